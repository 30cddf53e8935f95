{{/* The configuration of the embedded server; a test runs one with exactly this. */}}
{{- define "webcapture.natsConfig" -}}
listen: "0.0.0.0:4222"
server_name: {{ include "webcapture.fullname" . | quote }}
http: "0.0.0.0:8222"
# Most files then ride along with the answer.
max_payload: 8MB
lame_duck_duration: 30s
lame_duck_grace_period: 5s
jetstream {
  store_dir: "/data"
  # The default of two minutes is what a power cut may cost.
  sync_interval: "1s"
}
{{ include "webcapture.natsUsers" . }}
{{- end -}}

{{/* Each service may do what files/nats-permissions.json lists, and nothing else; renderers that of their own region. */}}
{{- define "webcapture.natsUsers" -}}
{{- $permissions := .Files.Get "files/nats-permissions.json" | fromJson -}}
authorization {
  users: [
{{- range $login := include "webcapture.natsLogins" . | fromJsonArray }}
    {
      user: {{ .name | quote }}, password: ${{ .variable }}
      permissions: {
{{- range $direction := list "publish" "subscribe" }}
        {{ $direction }}: { allow: [
{{- range index $permissions $login.service $direction }}
          # {{ .for }}
          {{- range .subjects }}
          {{ . | replace "{region}" $login.region | quote }}
          {{- end }}
{{- end }}
        ] }
{{- end }}
      }
    }
{{- end }}
  ]
}
{{- end -}}
