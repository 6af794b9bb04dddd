package controlplane

import "encoding/json"

// Bootstrap is the xDS bootstrap of a gRPC client for the control plane at address (host:port):
// the contents of GRPC_XDS_BOOTSTRAP_CONFIG, or of the file that GRPC_XDS_BOOTSTRAP names
// (gRFC A27).
func Bootstrap(address, node string) ([]byte, error) {
	return json.MarshalIndent(map[string]any{
		"node": map[string]any{"id": node, "locality": map[string]any{"zone": CallerZone}},
		"xds_servers": []any{map[string]any{
			"server_uri":      address,
			"channel_creds":   []any{map[string]any{"type": "insecure"}},
			"server_features": []any{"xds_v3"},
		}},
	}, "", "  ")
}
