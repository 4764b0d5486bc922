"""What medicine knows: diseases, symptoms, examinations and drugs as data files, and their readers."""
