{{- define "webcapture.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 30 | trimSuffix "-" -}}
{{- end -}}

{{/*
Names end in "-renderer-asia-southeast", and pods add 17 characters: with 32 all stay below the 63 of a label. The name of a Service has no dot
and begins with a letter, but that of a release may have dots and begin with a digit: my.app becomes my-app-webcapture, and 2nd
webcapture-2nd.
*/}}
{{- define "webcapture.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 32 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "webcapture.name" . -}}
{{- $release := replace "." "-" .Release.Name -}}
{{- if regexMatch "^[0-9]" $release -}}
{{- printf "%s-%s" $name $release | trunc 32 | trimSuffix "-" -}}
{{- else if contains $name $release -}}
{{- $release | trunc 32 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" $release $name | trunc 32 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Usage: include "webcapture.labels" (dict "root" $ "component" "front" "region" "") */}}
{{- define "webcapture.labels" -}}
{{ include "webcapture.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: webcapture
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
Labels of pods: only what selects them. A label that changes with each release of the chart would restart every pod, and the
embedded NATS with them. Usage: as "webcapture.labels".
*/}}
{{- define "webcapture.podLabels" -}}
{{ include "webcapture.selector" . }}
{{- with .root.Values.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "webcapture.selector" -}}
app.kubernetes.io/name: webcapture
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- with .region }}
webcapture.dev/region: {{ . }}
{{- end }}
{{- end -}}

{{/* A quantity of Kubernetes, such as 20Gi, in bytes. */}}
{{- define "webcapture.bytes" -}}
{{- if kindIs "string" . -}}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $unit := regexReplaceAll "^[0-9.]+" . "" -}}
{{- if not (hasKey $units $unit) -}}{{- fail (printf "%s: sizes and amounts of memory are a number and one of k, M, G, T, Ki, Mi, Gi and Ti, such as 20Gi." .) -}}{{- end -}}
{{- mulf (regexFind "^[0-9.]+" . | float64) (index $units $unit) | int64 -}}
{{- else -}}
{{- int64 . -}}
{{- end -}}
{{- end -}}

{{/*
The name of an image. A repository that begins with a host is complete; any other needs a registry. Usage: include
"webcapture.image" (dict "root" $ "image" .Values.image)
*/}}
{{- define "webcapture.image" -}}
{{- $registry := coalesce (default dict .root.Values.global).imageRegistry .image.registry .root.Values.image.registry -}}
{{- $name := .image.repository -}}
{{- if not (regexMatch "^([^/]*[.:][^/]*|localhost)/" $name) -}}
{{- if not $registry -}}
{{- $tag := default .root.Chart.AppVersion .image.tag -}}
{{- fail (printf "image.registry: name the registry that has the images of webcapture. To build them and push them to yours:\n  for image in front renderer; do\n    docker build -f deploy/docker/Dockerfile --target $image -t REGISTRY/webcapture/$image:%s .\n    docker push REGISTRY/webcapture/$image:%s\n  done\n  helm ... --set image.registry=REGISTRY" $tag $tag) -}}
{{- end -}}
{{- $name = printf "%s/%s" (trimSuffix "/" $registry) $name -}}
{{- end -}}
{{- if .image.digest -}}
{{ $name }}@{{ .image.digest }}
{{- else -}}
{{ $name }}:{{ default .root.Chart.AppVersion .image.tag }}
{{- end -}}
{{- end -}}

{{/* "true" for the release of a cluster that joins the hub of another one. */}}
{{- define "webcapture.satellite" -}}
{{- if eq .Values.role "satellite" -}}true{{- end -}}
{{- end -}}

{{/* "true" where the release has a NATS of its own. */}}
{{- define "webcapture.embeddedNats" -}}
{{- if and .Values.nats.enabled (not (include "webcapture.satellite" .)) -}}true{{- end -}}
{{- end -}}

{{- define "webcapture.authSecret" -}}
{{- default (printf "%s-auth" (include "webcapture.fullname" .)) .Values.auth.existingSecret -}}
{{- end -}}

{{- define "webcapture.natsSecret" -}}
{{- default (printf "%s-nats-auth" (include "webcapture.fullname" .)) .Values.nats.existingSecret -}}
{{- end -}}

{{/*
What signs in to NATS, as a JSON list of {service, region, name, key, variable}: `key` is where the Secret has the password, `variable`
where the embedded server reads it. Renderers have a user for each region. The chart's own Secret has one for every region that there
can be, since adding a region must not restart the embedded server, one for backups and one for operators. An existing Secret has those of
the installed regions. With `nats.admin.enabled` there is also one without restrictions.
*/}}
{{- define "webcapture.natsLogins" -}}
{{- $regions := list "us-east" "us-west" "eu-west" "eu-central" "asia-east" "asia-southeast" -}}
{{- if .Values.nats.existingSecret -}}
{{- $regions = list -}}
{{- range concat .Values.regions .Values.otherRegions -}}{{- $regions = append $regions .name -}}{{- end -}}
{{- end -}}
{{- $logins := list -}}
{{- if .Values.nats.admin.enabled -}}
{{- $logins = append $logins (include "webcapture.natsLogin" (dict "root" . "service" "admin") | fromJson) -}}
{{- end -}}
{{- if not .Values.nats.existingSecret -}}
{{- $logins = append $logins (include "webcapture.natsLogin" (dict "root" . "service" "backup") | fromJson) -}}
{{- end -}}
{{- $logins = append $logins (include "webcapture.natsLogin" (dict "root" . "service" "controller") | fromJson) -}}
{{- $logins = append $logins (include "webcapture.natsLogin" (dict "root" . "service" "front") | fromJson) -}}
{{- if not .Values.nats.existingSecret -}}
{{- $logins = append $logins (include "webcapture.natsLogin" (dict "root" . "service" "operator") | fromJson) -}}
{{- end -}}
{{- range sortAlpha $regions -}}
{{- $logins = append $logins (include "webcapture.natsLogin" (dict "root" $ "service" "renderer" "region" .) | fromJson) -}}
{{- end -}}
{{- toJson $logins -}}
{{- end -}}

{{/* One of them, as a JSON object. Usage: dict "root" $ "service" "renderer" "region" "us-east"; only renderers have a region. */}}
{{- define "webcapture.natsLogin" -}}
{{- $suffix := "" -}}
{{- with .region -}}{{- $suffix = printf "-%s" . -}}{{- end -}}
{{- $id := printf "%s%s" .service $suffix -}}
{{- $name := printf "%s%s" (index .root.Values.nats.users .service) $suffix -}}
{{- $variable := printf "%s_PASSWORD" (upper $id | replace "-" "_") -}}
{{- dict "service" .service "region" (default "" .region) "name" $name "key" (printf "%s-password" $id) "variable" $variable | toJson -}}
{{- end -}}

{{/*
As whom a service signs in, as "webcapture.natsLogin". The controller of a satellite has the user of its first region. Usage: dict "root" $
"service" "front"
*/}}
{{- define "webcapture.ownLogin" -}}
{{- if and (eq .service "controller") (include "webcapture.satellite" .root) -}}
{{- include "webcapture.natsLogin" (dict "root" .root "service" "satellite" "region" (first .root.Values.regions).name) -}}
{{- else -}}
{{- include "webcapture.natsLogin" . -}}
{{- end -}}
{{- end -}}

{{/*
The file with which a service signs in, as a JSON object {secret, key, file, path, variable}; empty where it has a password. Usage: as
"webcapture.ownLogin"
*/}}
{{- define "webcapture.natsLoginFile" -}}
{{- $id := trimSuffix "-password" (include "webcapture.ownLogin" . | fromJson).key -}}
{{- $file := dict -}}
{{- with .root.Values.nats -}}
{{- if .credsSecret.name -}}
{{- $file = dict "secret" .credsSecret.name "key" (default (printf "%s.creds" $id) .credsSecret.key) "file" "user.creds" "variable" "WEBCAPTURE_NATS_CREDS_FILE" -}}
{{- else if .nkeySecret.name -}}
{{- $file = dict "secret" .nkeySecret.name "key" (default (printf "%s.nk" $id) .nkeySecret.key) "file" "user.nk" "variable" "WEBCAPTURE_NATS_NKEY_SEED_FILE" -}}
{{- end -}}
{{- end -}}
{{- if $file -}}{{- $_ := set $file "path" (printf "/var/run/secrets/webcapture/nats-login/%s" $file.file) -}}{{- end -}}
{{- toJson $file -}}
{{- end -}}

{{- define "webcapture.natsUrl" -}}
{{- if include "webcapture.embeddedNats" . -}}
nats://{{ include "webcapture.fullname" . }}-nats:4222
{{- else -}}
{{ .Values.nats.url }}
{{- end -}}
{{- end -}}

{{- define "webcapture.publicUrl" -}}
{{- if .Values.publicUrl -}}
{{ .Values.publicUrl }}
{{- else if and .Values.ingress.enabled .Values.ingress.hosts -}}
{{ ternary "https" "http" (not (empty .Values.ingress.tls)) }}://{{ first .Values.ingress.hosts }}
{{- else if and .Values.httpRoute.enabled .Values.httpRoute.hostnames -}}
https://{{ first .Values.httpRoute.hostnames }}
{{- else -}}
http://{{ include "webcapture.fullname" . }}-front.{{ .Release.Namespace }}.svc{{ if ne (int .Values.front.service.port) 80 }}:{{ .Values.front.service.port }}{{ end }}
{{- end -}}
{{- end -}}

{{/* us-east:1,eu-west:2 — each region with the renderers that it always keeps. */}}
{{- define "webcapture.regions" -}}
{{- $parts := list -}}
{{- $root := . -}}
{{- range .Values.regions -}}
{{- $least := .replicas -}}
{{- if kindIs "invalid" $least -}}{{- $least = 1 -}}{{- end -}}
{{- if include "webcapture.autoscaled" $root -}}
{{- $least = (include "webcapture.scaling" (dict "root" $root "region" .) | fromJson).minReplicas -}}
{{- end -}}
{{- $parts = append $parts (printf "%s:%d" .name (int $least)) -}}
{{- end -}}
{{- range .Values.otherRegions -}}
{{- $parts = append $parts (printf "%s:%d" .name (int .replicas)) -}}
{{- end -}}
{{- join "," $parts -}}
{{- end -}}

{{/*
WEBCAPTURE_REGIONS of a pod, as "webcapture.regions". A renderer needs its own one only, so that a new region restarts no renderer.
Usage: as "webcapture.commonEnv"
*/}}
{{- define "webcapture.ownRegions" -}}
{{- if eq .service "renderer" -}}{{ .region }}{{- else -}}{{ include "webcapture.regions" .root }}{{- end -}}
{{- end -}}

{{/* What every pod of ours is told. Usage: dict "root" $ "service" "front"; of a renderer with its "region". */}}
{{- define "webcapture.commonEnv" -}}
{{- $root := .root -}}
{{- $login := include "webcapture.ownLogin" . | fromJson -}}
{{- $gcsSecret := include "webcapture.gcsSecret" . -}}
- name: WEBCAPTURE_POD
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: WEBCAPTURE_NATS_URL
  value: {{ include "webcapture.natsUrl" $root | quote }}
{{- with include "webcapture.natsLoginFile" . | fromJson }}
- { name: {{ .variable }}, value: {{ .path }} }
{{- else }}
- name: WEBCAPTURE_NATS_USER
  value: {{ $login.name | quote }}
- name: WEBCAPTURE_NATS_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ include "webcapture.natsSecret" $root }}, key: {{ $login.key }} } }
{{- end }}
{{- with $root.Values.nats.tls }}
{{- if .caSecret }}
- { name: WEBCAPTURE_NATS_CA_FILE, value: /var/run/secrets/webcapture/nats/ca.crt }
{{- end }}
{{- if .clientSecret }}
- { name: WEBCAPTURE_NATS_CERT_FILE, value: /var/run/secrets/webcapture/nats/tls.crt }
- { name: WEBCAPTURE_NATS_KEY_FILE, value: /var/run/secrets/webcapture/nats/tls.key }
{{- end }}
{{- with .serverName }}
- { name: WEBCAPTURE_NATS_TLS_SERVER_NAME, value: {{ . | quote }} }
{{- end }}
{{- if .handshakeFirst }}
- { name: WEBCAPTURE_NATS_TLS_FIRST, value: 'on' }
{{- end }}
{{- end }}
{{- with $root.Values.nats.domain }}
- { name: WEBCAPTURE_NATS_DOMAIN, value: {{ . | quote }} }
{{- end }}
{{- with $root.Values.nats.prefix }}
- { name: WEBCAPTURE_NATS_PREFIX, value: {{ . | quote }} }
{{- end }}
- name: WEBCAPTURE_REGIONS
  value: {{ include "webcapture.ownRegions" . | quote }}
- name: WEBCAPTURE_LOG_LEVEL
  value: {{ $root.Values.logLevel }}
{{- if or $root.Values.caBundle.configMap $root.Values.caBundle.secret }}
- { name: WEBCAPTURE_CA_BUNDLE, value: /var/run/secrets/webcapture/ca/ca.crt }
{{- end }}
{{- with $root.Values.tracing }}
{{- if .endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .endpoint | quote }}
{{- with .headersSecret }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom: { secretKeyRef: { name: {{ . }}, key: headers } }
{{- end }}
- name: OTEL_TRACES_SAMPLER
  value: parentbased_traceidratio
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ .samplerRatio | quote }}
{{- end }}
{{- end }}
{{- with $root.Values.egress.allow }}
- name: WEBCAPTURE_EGRESS_ALLOW
  value: {{ join "," . | quote }}
{{- end }}
{{- with $root.Values.egress.deny }}
- name: WEBCAPTURE_EGRESS_DENY
  value: {{ join "," . | quote }}
{{- end }}
{{- if eq $root.Values.storage.type "gcs" }}
{{- with $root.Values.storage.gcs }}
- name: WEBCAPTURE_GCS_BUCKET
  value: {{ .bucket | quote }}
{{- with .prefix }}
- name: WEBCAPTURE_GCS_PREFIX
  value: {{ . | quote }}
{{- end }}
{{- with .endpoint }}
- name: WEBCAPTURE_GCS_ENDPOINT
  value: {{ . | quote }}
{{- end }}
{{- with .project }}
- name: WEBCAPTURE_GCS_PROJECT
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- if $gcsSecret }}
- name: GOOGLE_APPLICATION_CREDENTIALS
  value: /var/run/secrets/webcapture/gcs/key.json
{{- end }}
{{- end }}
{{- if eq $root.Values.storage.type "s3" }}
{{- with $root.Values.storage.s3 }}
- name: WEBCAPTURE_S3_BUCKET
  value: {{ .bucket | quote }}
- name: WEBCAPTURE_S3_REGION
  value: {{ .region | quote }}
{{- with .prefix }}
- name: WEBCAPTURE_S3_PREFIX
  value: {{ . | quote }}
{{- end }}
{{- with .endpoint }}
- name: WEBCAPTURE_S3_ENDPOINT
  value: {{ . | quote }}
{{- end }}
{{- $secret := .existingSecret }}
{{- if eq $.service "renderer" }}{{- $secret = default .existingSecret (default dict .renderer).existingSecret }}{{- end }}
{{- with $secret }}
{{- range list "AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY" }}
- name: {{ . }}
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ . }} } }
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The Secret with the key file of a service's own account on the bucket, if any. Usage: dict "root" $ "service" "front" */}}
{{- define "webcapture.gcsSecret" -}}
{{- with .root.Values.storage -}}
{{- if eq .type "gcs" -}}
{{- $own := "" -}}
{{- if eq $.service "renderer" -}}{{- $own = (default dict .gcs.renderer).existingSecret -}}{{- end -}}
{{- default .gcs.existingSecret $own -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What fronts and controllers must be told alike. */}}
{{- define "webcapture.addressEnv" -}}
- name: WEBCAPTURE_PUBLIC_URL
  value: {{ include "webcapture.publicUrl" . | quote }}
{{- with .Values.cdnUrl }}
- name: WEBCAPTURE_CDN_URL
  value: {{ . | quote }}
{{- end }}
{{- with .Values.defaultLimits }}
{{- range $name, $variable := dict "tokenQuota" "TOKEN_QUOTA" "ratePerMinute" "RATE_PER_MINUTE" "burst" "BURST" "maxInFlight" "MAX_IN_FLIGHT" "maxQueued" "MAX_QUEUED" "maxQueuedBytes" "MAX_QUEUED_BYTES" "maxStoredBytes" "MAX_STORED_BYTES" "maxPersistedBytes" "MAX_PERSISTED_BYTES" }}
{{- if hasKey $.Values.defaultLimits $name }}
- name: WEBCAPTURE_DEFAULT_{{ $variable }}
  value: {{ index $.Values.defaultLimits $name | int64 | quote }}
{{- end }}
{{- end }}
{{- end }}
- name: WEBCAPTURE_ALLOW_IGNORE_TLS_ERRORS
  value: {{ .Values.allowIgnoreTlsErrors | quote }}
{{- end -}}

{{/* Volumes and mounts of every pod: /tmp is all that may be written. Usage: as "webcapture.commonEnv" */}}
{{- define "webcapture.mounts" -}}
- { name: tmp, mountPath: /tmp }
{{- if include "webcapture.gcsSecret" . }}
- { name: gcs, mountPath: /var/run/secrets/webcapture/gcs, readOnly: true }
{{- end }}
{{- if or .root.Values.nats.tls.caSecret .root.Values.nats.tls.clientSecret }}
- { name: nats-tls, mountPath: /var/run/secrets/webcapture/nats, readOnly: true }
{{- end }}
{{- if or .root.Values.caBundle.configMap .root.Values.caBundle.secret }}
- { name: ca-bundle, mountPath: /var/run/secrets/webcapture/ca, readOnly: true }
{{- end }}
{{- /* A whole folder, because the kubelet does not update a subPath when the Secret changes. */}}
{{- if include "webcapture.natsLoginFile" . | fromJson }}
- { name: nats-login, mountPath: /var/run/secrets/webcapture/nats-login, readOnly: true }
{{- end }}
{{- end -}}

{{/* Of the Secrets and the CA bundle that a pod has as files. Usage: as "webcapture.commonEnv" */}}
{{- define "webcapture.secretVolumes" -}}
{{- $tls := .root.Values.nats.tls -}}
{{- if or $tls.caSecret $tls.clientSecret }}
- name: nats-tls
  projected:
    sources:
      {{- with $tls.caSecret }}
      - secret: { name: {{ . }}, items: [{ key: ca.crt, path: ca.crt }] }
      {{- end }}
      {{- with $tls.clientSecret }}
      - secret: { name: {{ . }}, items: [{ key: tls.crt, path: tls.crt }, { key: tls.key, path: tls.key }] }
      {{- end }}
{{- end }}
{{- with .root.Values.caBundle }}
{{- if .configMap }}
- name: ca-bundle
  configMap: { name: {{ .configMap }}, items: [{ key: {{ .key }}, path: ca.crt }] }
{{- else if .secret }}
- name: ca-bundle
  secret: { secretName: {{ .secret }}, items: [{ key: {{ .key }}, path: ca.crt }] }
{{- end }}
{{- end }}
{{- with include "webcapture.natsLoginFile" . | fromJson }}
- name: nats-login
  secret: { secretName: {{ .secret }}, items: [{ key: {{ .key }}, path: {{ .file }} }] }
{{- end }}
{{- with include "webcapture.gcsSecret" . }}
- name: gcs
  secret: { secretName: {{ . }} }
{{- end }}
{{- end -}}

{{/* By default Pod Security `restricted`, whatever the seccomp profile. */}}
{{- define "webcapture.podSecurity" -}}
{{- with omit .Values.podSecurityContext "seccompProfile" }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{- define "webcapture.containerSecurity" -}}
{{- toYaml .Values.containerSecurityContext -}}
{{- end -}}

{{/* What an operator adds to pods. Usage: include "webcapture.extraVolumes" .Values.front */}}
{{- define "webcapture.extraVolumes" -}}
{{- with .extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "webcapture.extraVolumeMounts" -}}
{{- with .extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "webcapture.sidecars" -}}
{{- with .sidecars }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Usage: dict "root" $ "service" "front" */}}
{{- define "webcapture.serviceAccount" -}}
{{- $account := index .root.Values.serviceAccounts .service -}}
{{- if $account.name -}}
{{ $account.name }}
{{- else if $account.create -}}
{{ include "webcapture.fullname" .root }}-{{ .service }}
{{- else -}}
default
{{- end -}}
{{- end -}}

{{/* Pods apart from each other, as far as there are nodes. Usage: dict "root" $ "component" … "region" … */}}
{{- define "webcapture.spread" -}}
{{- $selector := include "webcapture.selector" . -}}
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- $selector | nindent 6 }}
  # The old pods, which a rolling update removes, are not counted.
  matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end -}}

{{/* Where the renderers of a region run, as JSON: what the region says itself wins. Usage: dict "root" $ "region" (an entry of regions) */}}
{{- define "webcapture.placing" -}}
{{- $common := deepCopy (pick .root.Values.renderer "nodeSelector" "tolerations" "affinity") -}}
{{- mergeOverwrite $common (pick .region "nodeSelector" "tolerations" "affinity") | toJson -}}
{{- end -}}

{{/* YAML reads an off without quotes as false. */}}
{{- define "webcapture.sandbox" -}}
{{- $mode := .Values.renderer.sandbox.mode -}}
{{- ternary "off" $mode (kindIs "bool" $mode) -}}
{{- end -}}

{{- define "webcapture.probes" -}}
livenessProbe:
  httpGet: { path: /livez, port: ops }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
  # What does not answer for a minute does not drain either.
  terminationGracePeriodSeconds: 15
readinessProbe:
  httpGet: { path: /readyz, port: ops }
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 3
{{- end -}}
