"""Workers, as the referee holds them: started, asked, watched, ended."""
