package agentkernel

import "encoding/json"

// Network is what a sandbox can reach: On, Off, Allowlist, or the domains of AllowDomains.
type Network struct {
	mode    string
	domains []string
}

// Everything public, nothing, or what the allowlist of a policy names.
var (
	On        = &Network{mode: "on"}
	Off       = &Network{mode: "off"}
	Allowlist = &Network{mode: "allowlist"}
)

// AllowDomains lets only these be reached; "*.example.com" stands for subdomains.
func AllowDomains(domains ...string) *Network {
	return &Network{domains: append([]string{}, domains...)}
}

// MarshalJSON writes it as the API has it.
func (n Network) MarshalJSON() ([]byte, error) {
	if n.domains != nil {
		return json.Marshal(map[string][]string{"allowed_domains": n.domains})
	}
	return json.Marshal(n.mode)
}

// UnmarshalJSON takes true and false too.
func (n *Network) UnmarshalJSON(text []byte) error {
	var isOn bool
	if json.Unmarshal(text, &isOn) == nil {
		*n = *Off
		if isOn {
			*n = *On
		}
		return nil
	}
	var rules struct {
		Domains []string `json:"allowed_domains"`
	}
	if json.Unmarshal(text, &rules) == nil {
		*n = Network{domains: append([]string{}, rules.Domains...)}
		return nil
	}
	*n = Network{}
	return json.Unmarshal(text, &n.mode)
}
