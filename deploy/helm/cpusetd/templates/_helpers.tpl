{{/* The labels of every object. The first is that of the pods. */}}
{{- define "cpusetd.labels" -}}
app.kubernetes.io/name: cpusetd
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* A file that Kustomize takes too, with the namespace of the release in place of cpusetd. */}}
{{- define "cpusetd.file" -}}
{{- $namespace := .context.Release.Namespace -}}
{{- .context.Files.Get (printf "files/%s" .name) | replace "namespace: cpusetd\n" (printf "namespace: %s\n" $namespace) -}}
{{- end }}

{{/* The fields that the check and cpusetd have in common. */}}
{{- define "cpusetd.container" -}}
image: {{ required "image.repository is not set: name the image of a release in your registry (docs/release.md)" .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
env:
  {{- if .Values.monitoring.enabled }}
  - { name: CPUSETD_METRICS_ADDRESS, value: '0.0.0.0:14709' }
  {{- end }}
  {{- if .Values.apiServer.enabled }}
  - { name: CPUSETD_KUBECONFIG, value: in-cluster }
  - { name: CPUSETD_KUBE_EVENTS, value: 'on' }
  - { name: CPUSETD_NODE_CONDITION, value: 'on' }
  {{- end }}
  {{- if .Values.unprivileged }}
  - { name: CPUSETD_CRI_ENDPOINT, value: 'off' }
  {{- else if eq .Values.runtime "crio" }}
  - { name: CPUSETD_CRI_ENDPOINT, value: /var/run/crio/crio.sock }
  {{- end }}
  - { name: CPUSETD_CONFIG, value: /etc/cpusetd/cpusetd.yaml }
  - { name: CPUSETD_HEALTH_ADDRESS, value: '0.0.0.0:14708' } # for the probes
  - name: CPUSETD_NODE_NAME # for node groups, and with the API server
    valueFrom: { fieldRef: { fieldPath: spec.nodeName } }
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
volumeMounts: # Directories, not sockets: a restarted runtime creates new sockets.
  {{- if not .Values.unprivileged }}
  {{- if eq .Values.runtime "crio" }}
  - { name: crio, mountPath: /var/run/crio }
  {{- else }}
  - { name: containerd, mountPath: /run/containerd }
  {{- end }}
  {{- end }}
  - { name: nri, mountPath: /var/run/nri }
  - { name: state, mountPath: /var/lib/cpusetd }
  # Of the host: its locks keep a second cpusetd off the runtime, also one that is a service of the host.
  - { name: run, mountPath: /run/cpusetd }
  - { name: cgroup, mountPath: /sys/fs/cgroup }
  {{- if not .Values.unprivileged }}
  # To detect a kubelet with the static policy.
  - { name: kubelet, mountPath: /var/lib/kubelet, readOnly: true }
  # To detect a daemon-reload: systemd then writes its own cpusets.
  - { name: systemd, mountPath: /run/systemd, readOnly: true }
  {{- end }}
  # The directory, not the file by subPath: the kubelet does not update the latter.
  - { name: config, mountPath: /etc/cpusetd, readOnly: true }
{{- end }}
