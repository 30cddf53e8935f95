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
