"""Where every solution stands: a board made from the journal alone, and the forms it is shown in."""
