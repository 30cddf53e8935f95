{{/* IP families of a Service, as fields of its spec. Without values, the cluster decides. */}}
{{- define "webcapture.ipFamilies" -}}
{{- $fields := dict -}}
{{- with .Values.ipFamilyPolicy }}{{- $_ := set $fields "ipFamilyPolicy" . }}{{- end -}}
{{- with .Values.ipFamilies }}{{- $_ := set $fields "ipFamilies" . }}{{- end -}}
{{- with $fields }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{/* Ports of a NetworkPolicy from a list of numbers, as JSON. */}}
{{- define "webcapture.policyPorts" -}}
{{- $ports := list -}}
{{- range . }}{{- $ports = append $ports (dict "protocol" "TCP" "port" (int .)) }}{{- end -}}
{{- toJson $ports -}}
{{- end -}}

{{/*
The upstream proxy of a region, or without "region" that of webhooks, as JSON: {url, port, resolve, existingSecret, noProxy, to}, or {} for
direct connections. The value of a region replaces the other one as a whole, so that no proxy gets the credentials of another. Usage: dict
"root" $ "region" (an entry of regions)
*/}}
{{- define "webcapture.upstreamProxy" -}}
{{- $proxy := .root.Values.upstreamProxy -}}
{{- if hasKey (default dict .region) "upstreamProxy" -}}{{- $proxy = .region.upstreamProxy -}}{{- end -}}
{{- $url := default "" (default dict $proxy).url -}}
{{- if $url -}}
{{- $scheme := regexFind "^[a-z0-9]+" $url -}}
{{- $port := regexFind ":[0-9]+/?$" $url | trimPrefix ":" | trimSuffix "/" -}}
{{- $port = default (index (dict "http" "80" "https" "443" "socks5" "1080" "socks5h" "1080") $scheme) $port -}}
{{- $resolve := default (ternary "proxy" "renderer" (eq $scheme "socks5h")) $proxy.resolve -}}
{{- merge (dict "port" (int $port) "resolve" $resolve) $proxy | toJson -}}
{{- else -}}
{}
{{- end -}}
{{- end -}}

{{/* Its variables. Usage: as "webcapture.upstreamProxy" */}}
{{- define "webcapture.upstreamProxyEnv" -}}
{{- with include "webcapture.upstreamProxy" . | fromJson -}}
- name: WEBCAPTURE_UPSTREAM_PROXY
  value: {{ .url | quote }}
- name: WEBCAPTURE_UPSTREAM_PROXY_RESOLVE
  value: {{ .resolve }}
{{- if .existingSecret }}
- name: WEBCAPTURE_UPSTREAM_PROXY_USER
  valueFrom: { secretKeyRef: { name: {{ .existingSecret }}, key: user } }
- name: WEBCAPTURE_UPSTREAM_PROXY_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ .existingSecret }}, key: password } }
{{- end }}
{{- with .noProxy }}
- name: WEBCAPTURE_NO_PROXY
  value: {{ join "," . | quote }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* The rule of a NetworkPolicy for it, as a JSON list that is empty for direct connections. Usage: as "webcapture.upstreamProxy" */}}
{{- define "webcapture.upstreamProxyRule" -}}
{{- $rules := list -}}
{{- with include "webcapture.upstreamProxy" . | fromJson -}}
{{- $rule := dict "ports" (include "webcapture.policyPorts" (list .port) | fromJsonArray) -}}
{{- with .to -}}{{- $_ := set $rule "to" . -}}{{- end -}}
{{- $rules = list $rule -}}
{{- end -}}
{{- toJson $rules -}}
{{- end -}}

{{/* Refuses a value. Usage: dict "name" "upstreamProxy" "proxy" .Values.upstreamProxy */}}
{{- define "webcapture.checkUpstreamProxy" -}}
{{- $url := default "" .proxy.url -}}
{{- if contains "@" $url -}}
{{- fail (printf "%s.url: must not contain credentials; name a Secret with the keys user and password in %s.existingSecret." .name .name) -}}
{{- end -}}
{{- if and $url (not (regexMatch "^(https?|socks5h?)://([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?/?$" $url)) -}}
{{- fail (printf "%s.url: must be http://host:port, https://host:port, socks5://host:port or socks5h://host:port, not %s." .name $url) -}}
{{- end -}}
{{- if and (not $url) (or .proxy.resolve .proxy.existingSecret .proxy.noProxy .proxy.to) -}}
{{- fail (printf "%s.url: name the proxy, or leave the other fields of %s empty." .name .name) -}}
{{- end -}}
{{- if and (hasPrefix "socks5://" $url) (eq (default "" .proxy.resolve) "proxy") -}}
{{- fail (printf "%s.resolve: must be renderer with socks5://, which is sent addresses; proxy needs socks5h:// or http://." .name) -}}
{{- end -}}
{{- if and (hasPrefix "socks5h://" $url) (eq (default "" .proxy.resolve) "renderer") -}}
{{- fail (printf "%s.resolve: must be proxy with socks5h://, which is sent names; renderer needs socks5:// or http://." .name) -}}
{{- end -}}
{{- range .proxy.noProxy -}}
{{- if or (contains "*" .) (contains "," .) -}}
{{- fail (printf "%s.noProxy: must be names such as corp.example, which stand for all names below them, too, and CIDR ranges, not %s." $.name .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
