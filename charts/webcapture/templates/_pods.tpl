{{/*
What the operator sets for the pods of a component, apart from their main container. Usage: dict "root" $ "values" .Values.front
"graceSeconds" 20; without graceSeconds the period is that of Kubernetes, 30 s.
*/}}
{{- define "webcapture.podSettings" -}}
{{- $grace := .values.terminationGracePeriodSeconds -}}
{{- if kindIs "invalid" $grace -}}{{- $grace = .graceSeconds -}}{{- end -}}
{{- if not (kindIs "invalid" $grace) }}
terminationGracePeriodSeconds: {{ int $grace }}
{{- end }}
{{- with .values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with default .root.Values.priorityClassName .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with uniq (concat (default list .root.Values.imagePullSecrets) (default list (default dict .root.Values.global).imagePullSecrets)) }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.initContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/*
The annotations of a component's pods, as `annotations: …` or as nothing; those of the operator win. Usage: dict "root" $ "values"
.Values.front "own" (dict "checksum/auth" "…")
*/}}
{{- define "webcapture.podAnnotations" -}}
{{- with mergeOverwrite (dict) (default dict .own) (default dict .root.Values.podAnnotations) (default dict .values.podAnnotations) -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/*
By which the cluster autoscaler removes a node with a front or controller on it: their /tmp is on the node's disk, and holds nothing that a
successor needs. The volumes of sidecars and of extraVolumes still keep a node, which `safe-to-evict` would not.
*/}}
{{- define "webcapture.evictable" -}}
cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes: tmp
{{- end -}}

{{/*
How the pods of a Deployment are replaced: a new pod is ready before an old one stops. The default is not in values.yaml, because Helm would
merge its rollingUpdate into a `type: Recreate`, which Kubernetes refuses. Usage: include "webcapture.updateStrategy" .Values.front
*/}}
{{- define "webcapture.updateStrategy" -}}
{{- toYaml (default (dict "rollingUpdate" (dict "maxUnavailable" 0 "maxSurge" 1)) .updateStrategy) -}}
{{- end -}}

{{/* Usage: include "webcapture.lifecycle" .Values.front */}}
{{- define "webcapture.lifecycle" -}}
{{- with .lifecycle }}
lifecycle:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/*
`replicas: …` of a Deployment, or nothing where an autoscaler decides. With an autoscaler the number is left out, so that no upgrade, rollback
or GitOps tool resets what the autoscaler chose. The one upgrade that turns an autoscaler on removes the number from a manifest that had it, and
Kubernetes then sets 1 until the autoscaler acts. No manifest without a number can prevent this. keepReplicas therefore renders the number that
the Deployment has in the cluster. It is not the default: a rollback would bring back the number of an earlier hour, Helm 4 would refuse a
number that the autoscaler has changed meanwhile, and Flux would correct each step of the autoscaler as drift. Where Helm does not ask the
cluster (`helm template`, Argo CD), the number is left out. Usage: dict "root" $ "name" "wc-front" "autoscaled" true "fixed" 2
*/}}
{{- define "webcapture.replicas" -}}
{{- if not .autoscaled -}}
replicas: {{ int .fixed }}
{{- else if .root.Values.keepReplicas -}}
{{- with lookup "apps/v1" "Deployment" .root.Release.Namespace .name -}}
replicas: {{ int .spec.replicas }}
{{- end -}}
{{- end -}}
{{- end -}}
