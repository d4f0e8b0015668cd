"""A model by hand: its ranking of candidates for each dish under each template.

Candidates are cheese, flour, rice and salt. AP of each dish, by equation 4:

    template    pizza {cheese, flour}    pasta {flour}   sushi {rice}   onigiri {rice, salt}       mean
    t-en-1      (1/1 + 2/2)/2 = 1        1/2             1              (1/2 + 2/4)/2 = 1/2        3/4
    t-en-2      (1/2 + 2/3)/2 = 7/12     1               1/4            1                          17/24
    both        19/24                    18/24           15/24          18/24                      35/48
    t-en-1c     1                        1/2             1/2            1
    t-en-2c     1                        1/2             1/2            1
    both        1                        1/2             1/2            1                          3/4
"""

PLAIN = {
    "t-en-1": {
        "pizza": "cheese flour rice salt",
        "pasta": "cheese flour rice salt",
        "sushi": "rice cheese flour salt",
        "onigiri": "flour rice cheese salt",
    },
    "t-en-2": {
        "pizza": "rice cheese flour salt",
        "pasta": "flour cheese rice salt",
        "sushi": "cheese flour salt rice",
        "onigiri": "rice salt cheese flour",
    },
}
WITH_COUNTRY = {
    "t-en-1c": {
        "pizza": "cheese flour rice salt",
        "pasta": "rice flour cheese salt",
        "sushi": "salt rice cheese flour",
        "onigiri": "rice salt cheese flour",
    },
    "t-en-2c": {
        "pizza": "flour cheese rice salt",
        "pasta": "rice flour cheese salt",
        "sushi": "flour rice cheese salt",
        "onigiri": "salt rice cheese flour",
    },
}
