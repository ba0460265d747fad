"""The world in symbols and in metres: data only."""
