package controlplane

import (
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tls "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcher "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"rpclab/internal/route/settings"
)

// encryption is how Envoy encrypts connections to backends; nil: clear text. Envoy reads certificates and keys from
// files, so no message contains them.
func encryption(s settings.Settings) (*core.TransportSocket, error) {
	if s.TLS == nil {
		return nil, nil
	}
	file := func(path string) *core.DataSource {
		return &core.DataSource{Specifier: &core.DataSource_Filename{Filename: path}}
	}
	common := &tls.CommonTlsContext{
		TlsParams:     &tls.TlsParameters{TlsMinimumProtocolVersion: tls.TlsParameters_TLSv1_2, TlsMaximumProtocolVersion: tls.TlsParameters_TLSv1_3},
		AlpnProtocols: []string{"h2"},
	}
	if s.HTTP1 {
		common.AlpnProtocols = []string{"http/1.1"}
	}
	if s.TLS.Client != "" {
		common.TlsCertificates = []*tls.TlsCertificate{{CertificateChain: file(s.TLS.Client), PrivateKey: file(s.TLS.Client)}}
	}
	if s.TLS.CACert != "" {
		kind := tls.SubjectAltNameMatcher_DNS
		if s.TLS.IsIP() {
			kind = tls.SubjectAltNameMatcher_IP_ADDRESS
		}
		common.ValidationContextType = &tls.CommonTlsContext_ValidationContext{ValidationContext: &tls.CertificateValidationContext{
			TrustedCa: file(s.TLS.CACert),
			MatchTypedSubjectAltNames: []*tls.SubjectAltNameMatcher{{
				SanType: kind, Matcher: &matcher.StringMatcher{MatchPattern: &matcher.StringMatcher_Exact{Exact: s.TLS.ServerName}},
			}},
		}}
	}
	config, err := anypb.New(&tls.UpstreamTlsContext{CommonTlsContext: common, Sni: s.TLS.SNI()})
	if err != nil {
		return nil, err
	}
	return &core.TransportSocket{Name: "envoy.transport_sockets.tls", ConfigType: &core.TransportSocket_TypedConfig{TypedConfig: config}}, nil
}
