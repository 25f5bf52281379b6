"""Users' vertex ids as typed columns, their stable hash, and sampling of them."""
