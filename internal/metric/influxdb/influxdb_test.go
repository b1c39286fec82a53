package influxdb

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/metrictest"
)

func TestTranscripts(t *testing.T) {
	metrictest.Run(t, "testdata", func(w metrictest.World) metric.Provider { return Provider{Network: w.Network} })
}

func FuzzParse(f *testing.F) {
	f.Add("#datatype,string,long,double\n#group,false,false,false\n#default,_result,,\n,result,table,_value\n,,0,1.5\n")
	f.Add("#datatype,string,string\n,error,reference\n,no,897\n")
	f.Add("#datatype\n_value\nx\n")
	f.Fuzz(func(t *testing.T, body string) {
		if values, err := parse([]byte(body)); err == nil && len(values) == 0 {
			t.Error("no values, and no error")
		}
	})
}
