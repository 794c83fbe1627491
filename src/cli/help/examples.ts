/** A command line, and what it does. */
export interface Example {
  readonly line: string;
  readonly does: string;
}

const of = (line: string, does: string): Example => ({ line, does });

/** Examples by command, for its help and for the man page. Each command has some. */
export const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  run: [
    of('cpusetd run --reserved-cpus 0-1', "the kubelet's static policy, with CPUs 0 and 1 for the system"),
    of('cpusetd run --config /etc/cpusetd.yaml', 'with the options of a file'),
  ],
  check: [
    of('cpusetd check', 'can cpusetd run here with the options of its service, /etc/cpusetd.yaml?'),
    of('cpusetd check --reserved-cpus 0-1 -o json', 'the same for a program'),
  ],
  'config explain': [
    of('cpusetd config explain', 'is /etc/cpusetd.yaml right, and what does it mean on this node?'),
    of('cpusetd config explain --config /etc/cpusetd.yaml --node-name gpu-17', 'the same on another node'),
  ],
  'config schema': [of('cpusetd config schema > cpusetd.schema.json', 'lets an editor check and complete the file')],
  status: [
    of('cpusetd status', 'the node and all containers'),
    of('cpusetd status shop/web -o wide', 'one pod, with all columns'),
    of('cpusetd status --drifted --watch', 'containers that need a look, as it changes'),
    of('cpusetd status --at 14:03', 'the node as it was at 14:03 UTC, by the journal'),
  ],
  top: [
    of('cpusetd top', 'a live view: broken promises first; keys sort it, and q ends it'),
    of('cpusetd top --sort others --interval 10s', 'whose CPUs do others use most, over 10 seconds?'),
    of('cpusetd top -o json', 'one reading, for a program'),
  ],
  topology: [
    of('cpusetd topology', 'a picture of the machine, with the owner of each CPU'),
    of('cpusetd topology --topology live', 'the machine alone, without a daemon'),
    of('cpusetd topology --at 2h', 'the owners as they were two hours ago'),
  ],
  cpu: [
    of('cpusetd cpu 17', 'who has CPU 17 and why, who runs there now, and who had it before'),
    of('cpusetd cpu 17 --at 2026-11-24T14:03:00Z', 'who had it then'),
  ],
  explain: [
    of('cpusetd explain shop/web', 'why the pod has its CPUs, or was refused'),
    of('cpusetd explain --cpus 8', 'would 8 exclusive CPUs fit now, and where?'),
  ],
  events: [
    of('cpusetd events --since 1h', 'what has happened in the last hour'),
    of('cpusetd events --pod shop/web --follow', 'what happens to a pod, from its beginning on'),
    of('cpusetd events --cpu 17 --until 14:03', 'what happened to CPU 17 until 14:03 UTC'),
    of('cpusetd events --kind drifted,repaired -o json', 'each drift and its repair, for a program'),
  ],
  replay: [
    of('cpusetd replay /var/lib/cpusetd/journal', 'does this version decide as it was decided then?'),
    of(
      'cpusetd replay /var/lib/cpusetd/journal --set cpu-manager-policy-options=full-pcpus-only=true',
      'which pods would have been refused with whole cores only?',
    ),
    of('cpusetd replay /var/lib/cpusetd/journal --topology machine.jsonl', 'would a smaller machine do?'),
  ],
  audit: [
    of('cpusetd audit --duration 30s', 'who else ran on promised CPUs in the next 30 seconds?'),
    of('cpusetd audit --all -o json', 'everything that could, for a program'),
  ],
  qos: [
    of('cpusetd qos', "the node's use, who used promised CPUs, and what rules did about it"),
    of('cpusetd qos --watch', 'the same, at each reading'),
    of('cpusetd qos -o json', 'all figures, for a program'),
  ],
  report: [
    of('cpusetd report', 'an archive for a bug report, in this folder'),
    of('cpusetd report --redact pods --output report.tar.gz', 'without the names of pods, namespaces and containers'),
    of('cpusetd report --output - > report.tar.gz', 'through kubectl exec, from a pod of the DaemonSet'),
  ],
  health: [
    of('cpusetd health', 'is the daemon serving?'),
    of('cpusetd health nri --watch', 'the connection to the runtime, at each change'),
  ],
  allocate: [
    of('cpusetd allocate --batch requests.jsonl --topology live', 'which CPUs would be given out on this machine'),
  ],
  'state show': [of('cpusetd state show', 'the assignments on disk')],
  'state verify': [of('cpusetd state verify && echo good', 'can a start use the state?')],
  'state export-kubelet': [
    of('cpusetd state export-kubelet > cpu_manager_state', "hands the assignments to the kubelet's CPU manager"),
  ],
  'state import-kubelet': [
    of('cpusetd state import-kubelet --dry-run /var/lib/kubelet/cpu_manager_state', 'what would be taken over'),
  ],
  'policy check': [of('cpusetd policy check policy.yaml', 'can annotator and extender use this file?')],
  profile: [
    of('cpusetd profile --cpu --seconds 30', 'what does it spend its time on?'),
    of('cpusetd profile --heap -o before.heapsnapshot', 'what is in its memory? The file has credentials'),
  ],
  annotator: [
    of(
      'cpusetd annotator --prometheus-address http://prometheus:9090',
      'writes load figures of the cluster that its service account is of',
    ),
  ],
  extender: [
    of('cpusetd extender --listen 127.0.0.1:8099', 'answers the scheduler of this host'),
    of('cpusetd extender --listen 127.0.0.1:8099 --explain shop/web', 'why each node was chosen or refused for a pod'),
  ],
  completion: [
    of('source <(cpusetd completion bash)', 'for this shell'),
    of('cpusetd completion zsh > "${fpath[1]}/_cpusetd"', 'for every zsh from now on'),
    of('cpusetd completion fish > ~/.config/fish/completions/cpusetd.fish', 'for every fish'),
  ],
  man: [
    of('cpusetd man | man -l -', 'shows the page'),
    of('cpusetd man > /usr/local/share/man/man8/cpusetd.8', 'installs it'),
  ],
};

/** The examples as the end of a command's help. */
export function formatExamples(examples: readonly Example[]): string {
  return ['', 'Examples:', ...examples.map(({ line, does }) => `  # ${does}\n  ${line}`)].join('\n');
}
