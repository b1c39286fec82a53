// Package spelling guesses which word was meant where people wrote one that there is not. It knows nothing of what the words mean.
package spelling

import "strings"

// Nearest is the candidate that was probably meant, "" if none is near.
func Nearest(word string, candidates []string) string {
	best, least, exactly := "", len(word)/3+2, 0 // a longer word has room for more mistakes
	for _, c := range candidates {
		letters := distance(word, c)
		d := letters
		if strings.HasPrefix(c, word) || strings.HasPrefix(word, c) {
			d = min(d, 1)
		}
		if d < least || d == least && best != "" && letters < exactly {
			best, least, exactly = c, d, letters
		}
	}
	return best
}

// distance is the number of letters to add, drop, change or swap with their neighbour to get from one word to the other.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
