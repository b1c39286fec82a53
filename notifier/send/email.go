package send

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/argoproj/notifications-engine/pkg/services"
	"gopkg.in/gomail.v2"

	"github.com/sluice-delivery/sluice/notifier/config"
)

// submissions is the port where encryption begins with the connection; elsewhere it is asked for.
const submissions = 465

// email sends by SMTP. Unlike the library's it ends when its context does.
type email struct {
	options services.EmailOptions
	network *Network
}

func newEmail(o services.EmailOptions, n *Network) (Sender, error) {
	if o.Host == "" {
		return nil, errors.New("it has no host: write the name of the SMTP server")
	}
	return &email{o, n}, nil
}

// Send sends to the recipient's addresses, which commas separate.
func (e *email) Send(ctx context.Context, n services.Notification, to config.Destination) error {
	addresses, err := mail.ParseAddressList(to.Recipient)
	if err != nil {
		return refusedf("recipient %q is not an e-mail address: %w", to.Recipient, err)
	}
	client, end, err := e.connect(ctx)
	if err != nil {
		return err
	}
	defer end()
	return smtpError(e.converse(client, addresses, n))
}

// connect returns a connection on which the server knows who we are.
func (e *email) connect(ctx context.Context) (*smtp.Client, func(), error) {
	port := cmp.Or(e.options.Port, 25)
	conn, err := e.network.Dial(ctx, net.JoinHostPort(e.options.Host, strconv.Itoa(port)))
	if err != nil {
		return nil, nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, nil, errors.Join(err, conn.Close())
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	end := func() { stop(); _ = conn.Close() }
	encryption := &tls.Config{ServerName: e.options.Host, InsecureSkipVerify: e.options.InsecureSkipVerify} // as the configuration asks
	if port == submissions {
		conn = tls.Client(conn, encryption)
	}
	client, err := smtp.NewClient(conn, e.options.Host)
	if err == nil {
		err = e.hello(client, encryption, port == submissions)
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return client, end, nil
}

func (e *email) hello(client *smtp.Client, encryption *tls.Config, encrypted bool) error {
	if ok, _ := client.Extension("STARTTLS"); ok && !encrypted {
		if err := client.StartTLS(encryption); err != nil {
			return err
		}
	}
	ok, ways := client.Extension("AUTH")
	if !ok || e.options.Username == "" {
		return nil
	}
	switch {
	case strings.Contains(ways, "CRAM-MD5"):
		return client.Auth(smtp.CRAMMD5Auth(e.options.Username, e.options.Password))
	case strings.Contains(ways, "LOGIN") && !strings.Contains(ways, "PLAIN"):
		return client.Auth(&login{e.options.Username, e.options.Password})
	}
	return client.Auth(smtp.PlainAuth("", e.options.Username, e.options.Password, e.options.Host))
}

func (e *email) converse(client *smtp.Client, addresses []*mail.Address, n services.Notification) error {
	from, err := mail.ParseAddress(cmp.Or(e.options.From, e.options.Username))
	if err != nil {
		return refusedf("from %q is not an e-mail address: %w", e.options.From, err)
	}
	if err := client.Mail(from.Address); err != nil {
		return err
	}
	m := gomail.NewMessage()
	m.SetHeader("From", from.String())
	var all []string
	for _, a := range addresses {
		if err := client.Rcpt(a.Address); err != nil {
			return err
		}
		all = append(all, a.String())
	}
	m.SetHeader("To", all...)
	block := cmp.Or(n.Email, &services.EmailNotification{})
	m.SetHeader("Subject", block.Subject)
	kind := "text/plain"
	if e.options.Html {
		kind = "text/html"
	}
	m.SetBody(kind, cmp.Or(block.Body, n.Message))
	data, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := m.WriteTo(data); err != nil {
		return err
	}
	// It is sent once the server says so; what goes wrong afterwards does not matter.
	if err := data.Close(); err != nil {
		return err
	}
	_ = client.Quit()
	return nil
}

// smtpError says whether another attempt may succeed: codes from 550 to 554 are about the mail or its recipient.
func smtpError(err error) error {
	if code := (*textproto.Error)(nil); errors.As(err, &code) && code.Code >= 550 && code.Code <= 554 {
		return refused(err)
	}
	return err
}

// login is the way to log in that Microsoft's servers have.
type login struct{ name, password string }

// Start begins only on encrypted connections, or one to this machine, like smtp.PlainAuth.
func (l *login) Start(server *smtp.ServerInfo) (string, []byte, error) {
	if !server.TLS && server.Name != "localhost" && server.Name != "127.0.0.1" && server.Name != "::1" {
		return "", nil, errors.New("unencrypted connection: the password is not sent")
	}
	return "LOGIN", nil, nil
}

// Next answers a question.
func (l *login) Next(question []byte, more bool) ([]byte, error) {
	switch asked := strings.ToLower(string(question)); {
	case !more:
		return nil, nil
	case strings.HasPrefix(asked, "user"):
		return []byte(l.name), nil
	case strings.HasPrefix(asked, "pass"):
		return []byte(l.password), nil
	default:
		return nil, fmt.Errorf("the server asks %q", asked)
	}
}
