"""What `bentpipe reproduce --new` makes: the folder of a paper, to start from. It is copied as it is."""
