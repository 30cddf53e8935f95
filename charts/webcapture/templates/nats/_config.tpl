{{/* Size in bytes of the volume of the embedded server. */}}
{{- define "webcapture.natsVolumeBytes" -}}
{{- include "webcapture.bytes" (ternary .Values.nats.persistence.size .Values.nats.emptyDirSizeLimit .Values.nats.persistence.enabled) -}}
{{- end -}}

{{/*
Maximum bytes of streams, as JSON. On the embedded server they follow the volume: files get at most half of it, and records a fifth, so
that each leaves room for the other; with a bucket the records get half. Records are also limited to twice the memory of the server: each
takes up to 450 B of memory and 1.7 KB of disk, so that they use about half of the memory. The response cache and the dead letters get
what the controller would give them, and less on a small volume.
*/}}
{{- define "webcapture.streamMaxBytes" -}}
{{- $limits := dict -}}
{{- if include "webcapture.embeddedNats" . -}}
{{- $limits = include "webcapture.natsShares" (dict "root" . "volume" (include "webcapture.natsVolumeBytes" . | int64)) | fromJson -}}
{{- end -}}
{{- mergeOverwrite $limits .Values.streamMaxBytes | toJson -}}
{{- end -}}

{{/* The defaults of the limits on a volume. No stream has less than 1 MiB. Usage: dict "root" $ "volume" (bytes) */}}
{{- define "webcapture.natsShares" -}}
{{- $isBucket := ne .root.Values.storage.type "nats" -}}
{{- $db := div (mul .volume (ternary 50 20 $isBucket)) 100 -}}
{{- with (default dict .root.Values.nats.resources.limits).memory -}}
{{- $db = min $db (mul 2 (include "webcapture.bytes" . | int64)) -}}
{{- end -}}
{{- $files := div (mul .volume (ternary 10 50 $isBucket)) 100 -}}
{{- $cache := min 268435456 (div (mul .volume 8) 100) -}}
{{- $dead := min 67108864 (div (mul .volume 2) 100) -}}
{{- dict "db" (max $db 1048576) "files" (max $files 1048576) "cache" (max $cache 1048576) "dead" (max $dead 1048576) | toJson -}}
{{- end -}}

{{/*
Bytes that the streams reserve on a volume. JetStream refuses a stream whose limit is more than what the others leave of its
max_file_store. Streams without a limit reserve nothing. Usage: as "webcapture.natsShares"
*/}}
{{- define "webcapture.natsReservedBytes" -}}
{{- $reserved := 0 -}}
{{- range $stream, $bytes := mergeOverwrite (include "webcapture.natsShares" . | fromJson) .root.Values.streamMaxBytes -}}
{{- $reserved = add $reserved (max 0 (int64 $bytes)) -}}
{{- end -}}
{{- $reserved -}}
{{- end -}}

{{/* Bytes of a volume that JetStream may use: four fifths, because deleted messages take space until they are compacted. */}}
{{- define "webcapture.natsStoreBytes" -}}
{{- div (mul . 4) 5 -}}
{{- end -}}

{{/*
The configuration of the embedded server; a test runs one with exactly this. nats-server listens over IPv6, too, if its address is 0.0.0.0,
because Go binds `::` for it on hosts that have IPv6.
*/}}
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
  # Four fifths of the volume: the rest is for what is deleted and not yet compacted. The server's default is a share of what is
  # free when it starts, which shrinks with every restart.
  max_file_store: {{ include "webcapture.natsStoreBytes" (include "webcapture.natsVolumeBytes" . | int64) }}
  # The default of two minutes is what a power cut may cost.
  sync_interval: "1s"
}
{{ include "webcapture.natsAccounts" . }}
{{- end -}}

{{/*
Shell script of the liveness probe. After an ENOSPC, nats-server refuses every write to that stream until it is restarted, and
/healthz answers 503. The script fails then only if the volume has 64 MiB or more: a restart while it is full does not help.
Each request has its own time limit and does not keep the output open: containerd waits for processes that outlive the probe, and
would never report the failure of a server that does not respond.
*/}}
{{- define "webcapture.natsLiveness" -}}
health() { timeout 2 wget -q -O /dev/null "http://127.0.0.1:8222/healthz$1" >/dev/null 2>&1; }
health '?js-server-only=true' || exit 1
health && exit 0
test "$(df -Pk /data | awk 'NR == 2 { print $4 }')" -lt 65536
{{- end -}}

{{/*
Each service may do what files/nats-permissions.json lists, and nothing else; only the user of nats.admin has no restrictions. The renderers of a region have a separate account, so that the
responses to their requests do not reach the account that has the streams.
*/}}
{{- define "webcapture.natsAccounts" -}}
{{- $permissions := .Files.Get "files/nats-permissions.json" | fromJson -}}
{{- $main := list -}}
{{- $renderers := list -}}
{{- range include "webcapture.natsLogins" . | fromJsonArray -}}
{{- if eq .service "renderer" -}}{{- $renderers = append $renderers . -}}{{- else -}}{{- $main = append $main . -}}{{- end -}}
{{- end -}}
accounts {
  webcapture {
    # The limit of the server, so that the account reports it and an alert can compare with it.
    jetstream: { max_file: {{ div (mul (include "webcapture.natsVolumeBytes" . | int64) 4) 5 }} }
    users: [
{{- range $login := $main }}
{{- include "webcapture.natsUser" (dict "root" $ "login" $login "permissions" $permissions) | nindent 6 }}
{{- end }}
    ]
    exports: [
{{- range $login := $renderers }}
{{- range index $permissions $login.service "publish" }}
{{- $responses := .responses }}
{{- range .subjects }}
      { service: {{ include "webcapture.natsSubject" (dict "root" $ "subject" . "region" $login.region) }}, {{ with $responses }}response_type: {{ . }}, {{ end }}accounts: [renderer-{{ $login.region }}] }
{{- end }}
{{- end }}
{{- range index $permissions $login.service "subscribe" }}
{{- range .subjects }}
{{- if not (hasPrefix "_INBOX." .) }}
      { stream: {{ include "webcapture.natsSubject" (dict "root" $ "subject" . "region" $login.region) }}, accounts: [renderer-{{ $login.region }}] }
{{- end }}
{{- end }}
{{- end }}
{{- end }}
    ]
  }
{{- range $login := $renderers }}
  renderer-{{ $login.region }} {
    users: [
{{- include "webcapture.natsUser" (dict "root" $ "login" $login "permissions" $permissions) | nindent 6 }}
    ]
    imports: [
{{- range index $permissions $login.service "publish" }}
{{- range .subjects }}
      { service: { account: webcapture, subject: {{ include "webcapture.natsSubject" (dict "root" $ "subject" . "region" $login.region) }} } }
{{- end }}
{{- end }}
{{- range index $permissions $login.service "subscribe" }}
{{- range .subjects }}
{{- if not (hasPrefix "_INBOX." .) }}
      { stream: { account: webcapture, subject: {{ include "webcapture.natsSubject" (dict "root" $ "subject" . "region" $login.region) }} } }
{{- end }}
{{- end }}
{{- end }}
    ]
  }
{{- end }}
}
{{- end -}}

{{/* A subject of files/nats-permissions.json in quotes. Usage: dict "root" $ "subject" "signals.{region}" "region" "us-east" */}}
{{- define "webcapture.natsSubject" -}}
{{- $prefix := "" -}}
{{- with .root.Values.nats.prefix -}}{{- $prefix = printf "%s-" . -}}{{- end -}}
{{- .subject | replace "{region}" .region | replace "{prefix}" $prefix | quote -}}
{{- end -}}

{{- define "webcapture.natsUser" -}}
{
  user: {{ .login.name | quote }}, password: ${{ .login.variable }}
{{- if hasKey $.permissions .login.service }}
  permissions: {
{{- range $direction := list "publish" "subscribe" }}
    {{ $direction }}: { allow: [
{{- range index $.permissions $.login.service $direction }}
      # {{ .for }}
      {{- range .subjects }}
      {{ include "webcapture.natsSubject" (dict "root" $.root "subject" . "region" $.login.region) }}
      {{- end }}
{{- end }}
    ] }
{{- end }}
  }
{{- end }}
}
{{- end -}}
