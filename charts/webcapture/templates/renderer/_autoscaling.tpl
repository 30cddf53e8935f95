{{/* "true" where an autoscaler decides how many renderers there are, KEDA or a HorizontalPodAutoscaler. */}}
{{- define "webcapture.autoscaled" -}}
{{- if or .Values.keda.enabled .Values.hpa.enabled -}}true{{- end -}}
{{- end -}}

{{/* The numbers by which a region is scaled, as JSON: what the region says itself wins. Usage: dict "root" $ "region" (an entry of regions) */}}
{{- define "webcapture.scaling" -}}
{{- $scaling := mergeOverwrite (deepCopy .root.Values.keda) (default dict .region.keda) -}}
{{- $_ := set $scaling "minReplicas" (int $scaling.minReplicas) -}}
{{- $_ := set $scaling "maxReplicas" (int $scaling.maxReplicas) -}}
{{- $background := $scaling.maxBackgroundReplicas -}}
{{- if kindIs "invalid" $background -}}{{- $background = max 1 $scaling.minReplicas (div (add1 $scaling.maxReplicas) 2) -}}{{- end -}}
{{- $_ := set $scaling "maxBackgroundReplicas" (int $background) -}}
{{- toJson $scaling -}}
{{- end -}}

{{/*
us-east:7.5,eu-west:3: for how many slots background captures count, so that an autoscaler that aims at targetPercent keeps
maxBackgroundReplicas for them.
*/}}
{{- define "webcapture.backgroundSlots" -}}
{{- $parts := list -}}
{{- range .Values.regions -}}
{{- $scaling := include "webcapture.scaling" (dict "root" $ "region" .) | fromJson -}}
{{- $slots := int (default $.Values.renderer.slots .slots) -}}
{{- $parts = append $parts (printf "%s:%.2f" .name (divf (mul (int $scaling.maxBackgroundReplicas) $slots (int $scaling.targetPercent)) 100.0)) -}}
{{- end -}}
{{- join "," $parts -}}
{{- end -}}
