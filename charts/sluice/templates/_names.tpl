{{- define "sluice.serviceAccount" -}}
{{ .Values.serviceAccount.name | default "argo-rollouts" }}
{{- end -}}

{{- define "sluice.labels" -}}
app.kubernetes.io/name: argo-rollouts
app.kubernetes.io/component: rollouts-controller
app.kubernetes.io/part-of: argo-rollouts
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- /* What selects the pods: it must never change. */ -}}
{{- define "sluice.selector" -}}
app.kubernetes.io/name: argo-rollouts
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
