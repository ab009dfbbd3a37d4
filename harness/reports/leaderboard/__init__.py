"""The standing of every solution: a board made from the journal alone, and the forms it is shown in."""
