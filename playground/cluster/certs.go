package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// keyPair is a certificate and its key, kept in two PEM files of one folder.
type keyPair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey

	certFile, keyFile string
	certPEM, keyPEM   []byte
}

// validity is long because nobody renews these certificates, and anyone who can read one can read the folder they are all
// in.
const validity = 10 * 365 * 24 * time.Hour

// loadOrCreate reads the pair called name from the folder, or makes and keeps it. A nil issuer signs itself.
func loadOrCreate(dir, name string, template x509.Certificate, issuer *keyPair) (*keyPair, error) {
	pair := &keyPair{
		certFile: filepath.Join(dir, name+".crt"),
		keyFile:  filepath.Join(dir, name+".key"),
	}
	err := pair.load()
	if errors.Is(err, os.ErrNotExist) {
		err = pair.create(template, issuer)
	}
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", name, err)
	}
	return pair, nil
}

func (p *keyPair) load() (err error) {
	if p.certPEM, err = os.ReadFile(p.certFile); err != nil {
		return err
	}
	if p.keyPEM, err = os.ReadFile(p.keyFile); err != nil {
		return err
	}
	return p.parse()
}

func (p *keyPair) parse() (err error) {
	cert, _ := pem.Decode(p.certPEM)
	key, _ := pem.Decode(p.keyPEM)
	if cert == nil || key == nil {
		return fmt.Errorf("%s or %s holds no PEM block", p.certFile, p.keyFile)
	}
	if p.cert, err = x509.ParseCertificate(cert.Bytes); err != nil {
		return fmt.Errorf("parse %s: %w", p.certFile, err)
	}
	if p.key, err = x509.ParseECPrivateKey(key.Bytes); err != nil {
		return fmt.Errorf("parse %s: %w", p.keyFile, err)
	}
	return nil
}

func (p *keyPair) create(template x509.Certificate, issuer *keyPair) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return err
	}
	// An hour back, for clients whose clock is behind.
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(validity)
	parent, signer := &template, key
	if issuer != nil {
		parent, signer = issuer.cert, issuer.key
	}
	certDER, err := x509.CreateCertificate(rand.Reader, &template, parent, key.Public(), signer)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	p.certPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certDER})
	p.keyPEM = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	// The certificate last: it is read first, so a half-written pair is created again.
	if err := os.WriteFile(p.keyFile, p.keyPEM, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(p.certFile, p.certPEM, 0o600); err != nil {
		return err
	}
	return p.parse()
}

func authorityCert() x509.Certificate {
	return x509.Certificate{
		Subject:               pkix.Name{CommonName: "sluice-playground"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
}

func serverCert(names []string, addresses ...net.IP) x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: names[0]},
		DNSNames:    names,
		IPAddresses: addresses,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

// userCert is a client certificate: Kubernetes takes the user's name and groups from its subject.
func userCert(name string, groups ...string) x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}
