package message

import (
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// left out are sprig's functions that read the process's environment, ask name servers, or take long to make keys that no message needs.
var leftOut = []string{
	"env", "expandenv", "getHostByName",
	"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey",
	"buildCustomCert", "derivePassword", "htpasswd", "bcrypt", "encryptAES", "decryptAES",
}

// growing are the functions whose result may be as large as the product of their arguments, a number counting for itself.
var growing = map[string]bool{
	"repeat": true, "until": true, "untilStep": true, "seq": true, "indent": true, "nindent": true, "replace": true, "join": true,
	"wrap": true, "wrapWith": true, "randAlphaNum": true, "randAlpha": true, "randNumeric": true, "randAscii": true, "randBytes": true,
	"abbrev": true, "abbrevboth": true, "regexReplaceAll": true, "regexReplaceAllLiteral": true, "mustRegexReplaceAll": true,
	"mustRegexReplaceAllLiteral": true, "regexMatch": true, "regexFind": true, "regexFindAll": true, "regexSplit": true,
	"mustRegexMatch": true, "mustRegexFind": true, "mustRegexFindAll": true, "mustRegexSplit": true,
}

// functions are what templates may call, each of which counts what it does.
func (b *budget) functions() template.FuncMap {
	all := maps.Clone(sprig.TxtFuncMap())
	for _, name := range leftOut {
		delete(all, name)
	}
	// Those of text/template that make texts longer.
	all["printf"] = b.printf
	all["print"] = fmt.Sprint
	all["println"] = fmt.Sprintln
	all["html"] = template.HTMLEscaper
	all["js"] = template.JSEscaper
	all["urlquery"] = template.URLQueryEscaper
	for name, f := range all {
		all[name] = b.counted(reflect.ValueOf(f), growing[name])
	}
	all[roundName] = func(n int) (string, error) { return "", b.spend(each + n) }
	all[shownName] = func(v any) (any, error) { return v, b.charge(reflect.ValueOf(v)) }
	return all
}

// counted is a function that stops the template when that does too much.
func (b *budget) counted(f reflect.Value, grows bool) any {
	return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		must(b.spend(each))
		if grows {
			must(b.spendProduct(args))
		}
		call := f.Call
		if f.Type().IsVariadic() {
			call = f.CallSlice
		}
		results := call(args)
		must(b.charge(results[0]))
		return results
	}).Interface()
}

// must ends a call with an error: text/template makes one of the panic of a function.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (b *budget) spendProduct(args []reflect.Value) error {
	product := 1
	for _, a := range args {
		n := 1 + b.magnitude(a)
		if n <= 0 || product > b.left/n {
			return b.spend(b.left + 1)
		}
		product *= n
	}
	return b.spend(product)
}

// magnitude is how much an argument may make of a result.
func (b *budget) magnitude(v reflect.Value) int {
	for v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	var n float64
	switch {
	case v.CanInt():
		n = float64(v.Int())
	case v.CanUint():
		n = float64(v.Uint())
	case v.CanFloat():
		n = v.Float()
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Int: // what seq takes
		n = 1
		for i := range v.Len() {
			n *= 1 + float64(b.magnitude(v.Index(i)))
		}
	default:
		return size(v, b.left, 0)
	}
	if n = max(n, -n); n > float64(b.left) {
		return b.left
	}
	return int(n)
}

// printf counts the widths of a format, which are as many bytes of the result.
func (b *budget) printf(format string, args ...any) (string, error) {
	for number := range strings.FieldsFuncSeq(format, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.Atoi(number); err != nil || b.spend(n) != nil {
			return "", errWork
		}
	}
	if strings.Contains(format, "*") {
		return "", fmt.Errorf("printf %q: write the width as a number instead of *", format)
	}
	for _, a := range args {
		if err := b.charge(reflect.ValueOf(a)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf(format, args...), nil
}
