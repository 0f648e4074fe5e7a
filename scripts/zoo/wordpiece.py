"""BERT's uncased tokenizer: words and punctuation, then the longest known pieces from the left."""

import unicodedata


def is_punctuation(char):
    return 33 <= ord(char) <= 47 or 58 <= ord(char) <= 64 or 91 <= ord(char) <= 96 or 123 <= ord(char) <= 126 \
        or unicodedata.category(char).startswith("P")


class WordPiece:
    def __init__(self, vocabulary):
        self.ids = {piece: index for index, piece in enumerate(vocabulary)}

    def words(self, text):
        plain = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
        spaced = "".join(f" {c} " if is_punctuation(c) else c for c in plain)
        return spaced.split()

    def pieces(self, word):
        found, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            end = next((e for e in range(len(word), start, -1) if prefix + word[start:e] in self.ids), None)
            if end is None:
                return ["[UNK]"]
            found.append(prefix + word[start:end])
            start = end
        return found

    def encode(self, text, limit):
        """Token ids with [CLS] and [SEP], at most `limit`."""
        body = [piece for word in self.words(text) for piece in self.pieces(word)][: limit - 2]
        return [self.ids[piece] for piece in ["[CLS]", *body, "[SEP]"]]
