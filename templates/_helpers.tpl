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

{{/* Name of the Lease that decides which operator acts. */}}
{{- define "spade.lease" -}}
{{- include "spade.operator" . }}-lease
{{- end -}}

{{/* Name of what `helm uninstall` starts first. */}}
{{- define "spade.uninstall" -}}
{{- printf "%s-uninstall" .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{/* Labels of hooks. The operator's own are not among them: its Service and the policies of runs select by those. */}}
{{- define "spade.hookLabels" -}}
app.kubernetes.io/name: spade
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: uninstall
{{- end -}}

{{/* Annotations of a hook that exists only while the chart is being removed; the argument is its place in the order. */}}
{{- define "spade.uninstallHook" -}}
helm.sh/hook: pre-delete
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{/* What every pod with the operator's image has in its spec. */}}
{{- define "spade.operatorPod" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.operator.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.operator.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{/* What every container with the operator's image has. */}}
{{- define "spade.operatorContainer" -}}
image: {{ include "spade.image" (list . "operator") }}
imagePullPolicy: {{ .Values.imagePullPolicy }}
resources: {{- toYaml .Values.operator.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
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
  "sandboxPodsPerNamespace" (int .Values.sandbox.podsPerNamespace)
  "operatorNamespace" .Release.Namespace
  "operatorLabels" (include "spade.selector" . | fromYaml)
  "watchNamespace" .Values.watchNamespace
  "manageNetworkPolicies" .Values.networkPolicies.manage
  "monitoringNamespace" .Values.networkPolicies.monitoringNamespace
  "lookAtCluster" (eq (include "spade.looks" .) "true")
  "kueue" .Values.kueue.enabled
  "dns" .Values.networkPolicies.dns
  "egressCidrs" .Values.egress.cidrs
  "egressPods" .Values.egress.pods
  "runPods" .Values.runPods
  "proxy" .Values.proxy
  "caBundle" .Values.caBundle
  "mesh" .Values.mesh
  "rdma" .Values.rdma
  "resources" .Values.defaultResources
  "targets" .Values.probe.targets
  "installationKeyFile" "/etc/spade/key/key"
  | toPrettyJson -}}
{{- end -}}
