{{/* What the Job does before an installation or upgrade, as JSON: the secrets that must exist, and the volume that must fit. */}}
{{- define "webcapture.plan" -}}
{{- $secrets := list -}}
{{- $owner := dict "app.kubernetes.io/managed-by" .Release.Service -}}
{{- if not (or .Values.auth.existingSecret (include "webcapture.satellite" .)) -}}
{{- $labels := merge (include "webcapture.selector" (dict "root" .) | fromYaml) $owner -}}
{{- $secrets = append $secrets (dict "name" (include "webcapture.authSecret" .) "labels" $labels "keys" (list "admin-token" "secrets-key")) -}}
{{- end -}}
{{- $statefulSet := "" -}}
{{- if include "webcapture.embeddedNats" . -}}
{{- if not .Values.nats.existingSecret -}}
{{- $labels := merge (include "webcapture.selector" (dict "root" . "component" "nats") | fromYaml) $owner -}}
{{- $keys := list -}}
{{- range include "webcapture.natsLogins" . | fromJsonArray -}}{{- $keys = append $keys .key -}}{{- end -}}
{{- $secrets = append $secrets (dict "name" (include "webcapture.natsSecret" .) "labels" $labels "keys" $keys) -}}
{{- end -}}
{{- $volume := "" -}}
{{- with .Values.nats.persistence -}}
{{- if .enabled -}}{{- $volume = dict "size" .size "storageClassName" (.storageClassName | default nil) -}}{{- end -}}
{{- end -}}
{{- $statefulSet = dict "name" (printf "%s-nats" (include "webcapture.fullname" .)) "volume" ($volume | default nil) -}}
{{- end -}}
{{- if or $secrets $statefulSet -}}
{{- $release := dict "name" .Release.Name "namespace" .Release.Namespace -}}
{{- dict "release" $release "secrets" $secrets "statefulSet" ($statefulSet | default nil) | toJson -}}
{{- end -}}
{{- end -}}

{{/* Objects that exist only while the Job runs. Usage: "-10" is earlier than "-5". */}}
{{- define "webcapture.prepareHook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
