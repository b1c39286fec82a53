package main

import (
	"bytes"
	"go/scanner"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
)

// prose is what people read in a file, each byte at its place; everything else is zero. Code in backquotes is not prose.
func prose(path string, text []byte) []byte {
	if filepath.Ext(path) != ".go" {
		return withoutCode(text)
	}
	words := make([]byte, len(text))
	for i, c := range text {
		if c == '\n' || c == '\t' {
			words[i] = c // so that a phrase may go over two lines of a comment
		}
	}
	var s scanner.Scanner
	files := token.NewFileSet()
	file := files.AddFile(path, files.Base(), len(text))
	s.Init(file, text, nil, scanner.ScanComments)
	for {
		pos, tok, literal := s.Scan()
		at := file.Offset(min(pos, token.Pos(file.Base()+file.Size())))
		switch {
		case tok == token.EOF:
			return words
		case tok == token.COMMENT:
			copy(words[at:], withoutCode([]byte(withoutSlashes.Replace(literal))))
		case tok == token.STRING && strings.Contains(literal, " "): // one word alone is a name, of a command or a field
			quoted := []byte(literal)
			quoted[0], quoted[len(quoted)-1] = 0, 0
			copy(words[at:], withoutCode(quoted))
		}
	}
}

// withoutSlashes keeps the length of a comment.
var withoutSlashes = strings.NewReplacer("//", "  ", "/*", "  ", "*/", "  ")

var code = regexp.MustCompile("`[^`\n]+`")

func withoutCode(text []byte) []byte {
	return code.ReplaceAllFunc(text, func(found []byte) []byte { return bytes.Repeat([]byte{0}, len(found)) })
}
