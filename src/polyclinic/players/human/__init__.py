"""A person at the terminal as the doctor, the patient or the nurse.

What is shown goes to standard error and what is typed comes from standard input, so that results stay by themselves on
standard output. Prompts and what they say lie beside each file, in both languages.
"""
