{{- define "rpclab.name" -}}
{{- if contains "rpclab" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-rpclab" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "rpclab.labels" -}}
app.kubernetes.io/name: rpclab
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
{{- end }}

{{- define "rpclab.pageLabels" -}}
app.kubernetes.io/name: rpclab
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: page
{{- end }}

{{- define "rpclab.tokenSecret" -}}
{{ .Values.page.existingSecret | default (printf "%s-token" (include "rpclab.name" .)) }}
{{- end }}

{{- define "rpclab.claim" -}}
{{ .Values.storage.existingClaim | default (include "rpclab.name" .) }}
{{- end }}

{{- /* What all pods have: the restricted pod security standard, and a directory for the store. */ -}}
{{- define "rpclab.pod" -}}
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
volumes:
  - name: tmp
    emptyDir: {}
  - name: data
    {{- if .Values.storage.enabled }}
    persistentVolumeClaim: {claimName: {{ include "rpclab.claim" . | quote }}}
    {{- else }}
    emptyDir: {}
    {{- end }}
  {{- if .Values.experiment.files }}
  - name: files
    configMap: {name: {{ include "rpclab.name" . }}}
  {{- end }}
{{- end }}

{{- define "rpclab.container" -}}
image: {{ .Values.image | quote }}
imagePullPolicy: {{ .Values.imagePullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  - {name: data, mountPath: /data}
  {{- if .Values.experiment.files }}
  - {name: files, mountPath: /etc/rpclab, readOnly: true}
  {{- end }}
{{- end }}

{{- /* The Job that runs the experiment. An exit code of 1 (a gate or assertion failed) or 2 (wrong usage) ends the Job,
whose condition then names the code. After 3 (the lab could not do it) and after an eviction it tries again. */ -}}
{{- define "rpclab.job" -}}
{{- if and .Values.experiment.gates (not .Values.storage.enabled) (not (regexMatch "(?m)^--against(=|\n)" (join "\n" .Values.experiment.args | replace "--against=last" "" | replace "--against\nlast" ""))) }}
{{- fail "without storage there is no earlier run, so the gates in experiment.gates would always pass: set storage.enabled=true, name what to compare with in experiment.args (--against,baseline: an arm of the same run), or set experiment.gates=null" }}
{{- end }}
backoffLimit: 1
activeDeadlineSeconds: {{ .Values.experiment.timeout }}
ttlSecondsAfterFinished: 604800
podFailurePolicy:
  rules:
    - action: FailJob
      onExitCodes: {containerName: run, operator: In, values: [1, 2]}
    - action: Ignore
      onPodConditions: [{type: DisruptionTarget, status: "True"}]
template:
  metadata:
    labels:
      {{- include "rpclab.labels" . | nindent 6 }}
      app.kubernetes.io/component: run
  spec:
    restartPolicy: Never
    terminationGracePeriodSeconds: 120 # a run that is stopped removes its namespace
    {{- if eq .Values.experiment.on "kubernetes" }}
    serviceAccountName: {{ include "rpclab.name" . }}-run
    {{- else }}
    automountServiceAccountToken: false
    {{- end }}
    {{- if and .Values.storage.enabled .Values.page.enabled }}
    affinity: # the volume is attached to the node of the page
      podAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: kubernetes.io/hostname
            labelSelector:
              matchLabels:
                {{- include "rpclab.pageLabels" . | nindent 16 }}
    {{- end }}
    {{- include "rpclab.pod" . | nindent 4 }}
    containers:
      - name: run
        {{- include "rpclab.container" . | nindent 8 }}
        args:
          - run
          {{- range .Values.experiment.args }}
          - {{ . | quote }}
          {{- end }}
          - --on={{ .Values.experiment.on }}
          {{- with .Values.storage.limit }}
          - --store-limit={{ . }}
          {{- end }}
          {{- range .Values.experiment.gates }}
          - {{ printf "--gate=%s" . | quote }}
          {{- end }}
          {{- if .Values.experiment.gates }}
          - --undecided={{ .Values.experiment.undecided }}
          {{- end }}
          {{- range .Values.experiment.asserts }}
          - {{ printf "--assert=%s" . | quote }}
          {{- end }}
        env:
          - {name: HOME, value: /tmp}
          - {name: RPCLAB_DATA_DIR, value: /data/rpclab}
          - {name: RPCLAB_IMAGE, value: {{ .Values.image | quote }}}
        resources:
          {{- toYaml .Values.experiment.resources | nindent 10 }}
{{- end }}
