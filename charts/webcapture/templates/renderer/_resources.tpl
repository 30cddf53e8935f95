{{/* An amount of CPU, such as 500m or 2, in millicores. */}}
{{- define "webcapture.millicores" -}}
{{- $amount := toString . -}}
{{- if hasSuffix "m" $amount -}}{{- trimSuffix "m" $amount | int64 -}}{{- else -}}{{- mulf (float64 $amount) 1000 | int64 -}}{{- end -}}
{{- end -}}

{{/*
Requests and limits of the renderers of a region, as JSON. What the region says wins over renderer.resources, and each amount that neither says
is computed from the slots: to set one amount removes no other. Usage: dict "root" $ "region" (an entry of regions)
*/}}
{{- define "webcapture.rendererResources" -}}
{{- $slots := int (default .root.Values.renderer.slots .region.slots) -}}
{{- $set := mergeOverwrite (deepCopy (default dict .root.Values.renderer.resources)) (deepCopy (default dict .region.resources)) -}}
{{- $requests := default dict $set.requests -}}
{{- $limits := default dict $set.limits -}}
{{- $memory := printf "%dMi" (add 1024 (mul 400 $slots)) -}}
{{- if $requests.memory -}}
{{- if gt (include "webcapture.bytes" $requests.memory | int64) (include "webcapture.bytes" $memory | int64) -}}{{- $memory = $requests.memory -}}{{- end -}}
{{- end -}}
{{- $limit := default $memory $limits.memory -}}
{{- if lt (include "webcapture.bytes" $limit | int64) 805306368 -}}
{{- fail (printf "renderer.resources.limits.memory: must be at least 768Mi, because a browser is replaced 512 MiB below the limit and needs 256 MiB; it is %v for %s. By default the limit is 1 GiB plus 400 MiB for each slot." $limit .region.name) -}}
{{- end -}}
{{- $cpu := mul .root.Values.renderer.cpuRequestPerSlot $slots -}}
{{- with $limits.cpu -}}{{- $cpu = min $cpu (include "webcapture.millicores" . | int64) -}}{{- end -}}
{{- $computed := dict "requests" (dict "cpu" (printf "%dm" (int64 $cpu)) "memory" $limit) "limits" (dict "memory" $limit) -}}
{{- mergeOverwrite $computed $set | toJson -}}
{{- end -}}
