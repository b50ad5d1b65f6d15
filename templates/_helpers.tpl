{{/* Name of everything that belongs to the operator. */}}
{{- define "spade.operator" -}}
{{- printf "%s-operator" .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{/* Labels that exactly the operator's pods carry; NetworkPolicies of runs select by them. */}}
{{- define "spade.selector" -}}
app.kubernetes.io/name: spade
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "spade.labels" -}}
{{ include "spade.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* An image reference: (list . "worker") */}}
{{- define "spade.image" -}}
{{- $context := index . 0 -}}
{{- $name := index . 1 -}}
{{- index $context.Values.images $name | default (printf "spade/%s:%s" $name $context.Chart.AppVersion) -}}
{{- end -}}

{{- define "spade.keySecret" -}}
{{- .Values.installationKey.existingSecret | default (printf "%s-installation-key" .Release.Name) -}}
{{- end -}}

{{/* What the installation decides about runs' pods; read by spade_operator.children.site. */}}
{{- define "spade.looks" -}}
{{- $wanted := .Values.preflight.lookAtCluster -}}
{{- or (eq $wanted "Always") (and (eq $wanted "Auto") (not .Values.watchNamespace)) -}}
{{- end -}}

{{- define "spade.site" -}}
{{- $images := dict -}}
{{- range $name := list "sandbox" "worker" "trainer" -}}
{{- $_ := set $images $name (include "spade.image" (list $ $name)) -}}
{{- end -}}
{{- dict
  "images" $images
  "imagePullPolicy" .Values.imagePullPolicy
  "imagePullSecrets" .Values.imagePullSecrets
  "sandboxRuntimeClass" .Values.sandbox.runtimeClassName
  "sandboxGraceSeconds" (int .Values.sandbox.graceSeconds)
  "operatorNamespace" .Release.Namespace
  "operatorLabels" (include "spade.selector" . | fromYaml)
  "watchNamespace" .Values.watchNamespace
  "manageNetworkPolicies" .Values.networkPolicies.manage
  "monitoringNamespace" .Values.networkPolicies.monitoringNamespace
  "lookAtCluster" (eq (include "spade.looks" .) "true")
  "dns" .Values.networkPolicies.dns
  "egressCidrs" .Values.egress.cidrs
  "runPods" .Values.runPods
  "proxy" .Values.proxy
  "caBundle" .Values.caBundle
  "mesh" .Values.mesh
  "resources" .Values.defaultResources
  "targets" .Values.probe.targets
  "installationKeyFile" "/etc/spade/key/key"
  | toPrettyJson -}}
{{- end -}}
