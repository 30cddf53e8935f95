{{/*
The recordings and alerts of files/alerts.yaml with the changes of monitoring.prometheusRule, as groups of rules. Usage: the root.
*/}}
{{- define "webcapture.alertGroups" -}}
{{- with .Values.monitoring.prometheusRule }}
{{- $file := $.Files.Get "files/alerts.yaml" | fromYaml }}
{{- $satellite := include "webcapture.satellite" $ }}
{{- if not $satellite }}
- name: webcapture-recordings
  rules:
    {{- range $recording := $file.recordings }}
    {{- range $window := .windows }}
    - record: {{ $recording.record | replace "$window" $window }}
      expr: {{ $recording.expr | replace "$namespace" $.Release.Namespace | replace "$window" $window | quote }}
      labels: { namespace: {{ $.Release.Namespace | quote }} }
    {{- end }}
    {{- end }}
{{- end }}
- name: webcapture
  rules:
    {{- $runbooks := .runbookUrl }}
    {{- $changes := .alerts }}
    {{- $names := list }}
    {{- range $file.rules }}
    {{- $names = append $names .alert }}
    {{- $alert := mergeOverwrite (dict "enabled" true) . (default dict (get $changes .alert)) }}
    {{- if and $alert.enabled (or .satellite (not $satellite)) }}
    - alert: {{ .alert }}
      expr: {{ .expr | replace "$namespace" $.Release.Namespace | replace "$threshold" (toString $alert.threshold) | quote }}
      for: {{ $alert.for }}
      labels: { severity: {{ $alert.severity }}, namespace: {{ $.Release.Namespace | quote }} }
      annotations:
        summary: {{ .summary | quote }}
        runbook_url: {{ $runbooks }}/{{ .runbook }}.md
    {{- end }}
    {{- end }}
    {{- range $name, $_ := $changes }}
    {{- if not (has $name $names) }}{{- fail (printf "monitoring.prometheusRule.alerts: there is no alert %s; the alerts are %s." $name (join ", " $names)) }}{{- end }}
    {{- end }}
{{- end }}
{{- end -}}
