/** A command line, and what it does. */
export interface Example {
  readonly line: string;
  readonly does: string;
}

const example = (line: string, does: string): Example => ({ line, does });

/** Examples by command, for its help and for the man page. Each command has some. */
export const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  run: [
    example('cpusetd run --reserved-cpus 0-1', "the kubelet's static policy, with CPUs 0 and 1 for the system"),
    example('cpusetd run --config /etc/cpusetd.yaml', 'with the options of a file'),
  ],
  check: [
    example('cpusetd check', 'can cpusetd run here with the options of its service, /etc/cpusetd.yaml?'),
    example('cpusetd check --reserved-cpus 0-1 -o json', 'the same for a program'),
  ],
  'config explain': [
    example('cpusetd config explain', 'is /etc/cpusetd.yaml right, and what does it mean on this node?'),
    example('cpusetd config explain --config /etc/cpusetd.yaml --node-name gpu-17', 'the same on another node'),
  ],
  'config schema': [
    example('cpusetd config schema > cpusetd.schema.json', 'lets an editor check and complete the file'),
  ],
  status: [
    example('cpusetd status', 'the node and all containers'),
    example('cpusetd status shop/web -o wide', 'one pod, with all columns'),
    example('cpusetd status --drifted --watch', 'containers that need a look, as it changes'),
    example('cpusetd status --at 14:03', 'the node as it was at 14:03 UTC, by the journal'),
  ],
  top: [
    example('cpusetd top', 'a live view: broken promises first; keys sort it, and q ends it'),
    example('cpusetd top --sort others --interval 10s', 'whose CPUs do others use most, over 10 seconds?'),
    example('cpusetd top -o json', 'one reading, for a program'),
  ],
  topology: [
    example('cpusetd topology', 'a picture of the machine, with the owner of each CPU'),
    example('cpusetd topology --topology live', 'the machine alone, without a daemon'),
    example('cpusetd topology --at 2h', 'the owners as they were two hours ago'),
  ],
  cpu: [
    example('cpusetd cpu 17', 'who has CPU 17 and why, who runs there now, and who had it before'),
    example('cpusetd cpu 17 --at 2026-11-24T14:03:00Z', 'who had it then'),
  ],
  explain: [
    example('cpusetd explain shop/web', 'why the pod has its CPUs, or was refused'),
    example('cpusetd explain --cpus 8', 'would 8 exclusive CPUs fit now, and where?'),
  ],
  events: [
    example('cpusetd events --since 1h', 'what has happened in the last hour'),
    example('cpusetd events --pod shop/web --follow', 'what happens to a pod, from its beginning on'),
    example('cpusetd events --cpu 17 --until 14:03', 'what happened to CPU 17 until 14:03 UTC'),
    example('cpusetd events --kind drifted,repaired -o json', 'each drift and its repair, for a program'),
  ],
  replay: [
    example('cpusetd replay /var/lib/cpusetd/journal', 'does this version decide as it was decided then?'),
    example(
      'cpusetd replay /var/lib/cpusetd/journal --set cpu-manager-policy-options=full-pcpus-only=true',
      'which pods would have been refused with whole cores only?',
    ),
    example('cpusetd replay /var/lib/cpusetd/journal --topology machine.jsonl', 'would a smaller machine do?'),
  ],
  audit: [
    example('cpusetd audit --duration 30s', 'who else ran on promised CPUs in the next 30 seconds?'),
    example('cpusetd audit --all -o json', 'everything that could, for a program'),
  ],
  qos: [
    example('cpusetd qos', "the node's use, who used promised CPUs, and what rules did about it"),
    example('cpusetd qos --watch', 'the same, at each reading'),
    example('cpusetd qos -o json', 'all figures, for a program'),
  ],
  report: [
    example('cpusetd report', 'an archive for a bug report, in this folder'),
    example(
      'cpusetd report --redact pods --output report.tar.gz',
      'without the names of pods, namespaces and containers',
    ),
    example('cpusetd report --output - > report.tar.gz', 'through kubectl exec, from a pod of the DaemonSet'),
  ],
  health: [
    example('cpusetd health', 'is the daemon serving?'),
    example('cpusetd health nri --watch', 'the connection to the runtime, at each change'),
  ],
  allocate: [
    example('cpusetd allocate --batch requests.jsonl --topology live', 'which CPUs would be given out on this machine'),
  ],
  'state show': [example('cpusetd state show', 'the assignments on disk')],
  'state verify': [example('cpusetd state verify && echo good', 'can a start use the state?')],
  'state export-kubelet': [
    example('cpusetd state export-kubelet > cpu_manager_state', "hands the assignments to the kubelet's CPU manager"),
  ],
  'state import-kubelet': [
    example('cpusetd state import-kubelet --dry-run /var/lib/kubelet/cpu_manager_state', 'what would be taken over'),
  ],
  'policy check': [example('cpusetd policy check policy.yaml', 'can annotator and extender use this file?')],
  profile: [
    example('cpusetd profile --cpu --seconds 30', 'what does it spend its time on?'),
    example('cpusetd profile --heap -o before.heapsnapshot', 'what is in its memory? The file has credentials'),
  ],
  annotator: [
    example(
      'cpusetd annotator --prometheus-address http://prometheus:9090',
      'writes load figures of the cluster that its service account is of',
    ),
  ],
  extender: [
    example('cpusetd extender --listen 127.0.0.1:8099', 'answers the scheduler of this host'),
    example(
      'cpusetd extender --listen 127.0.0.1:8099 --explain shop/web',
      'why each node was chosen or refused for a pod',
    ),
  ],
  completion: [
    example('source <(cpusetd completion bash)', 'for this shell'),
    example('cpusetd completion zsh > "${fpath[1]}/_cpusetd"', 'for every zsh from now on'),
    example('cpusetd completion fish > ~/.config/fish/completions/cpusetd.fish', 'for every fish'),
  ],
  man: [
    example('cpusetd man | man -l -', 'shows the page'),
    example('cpusetd man > /usr/local/share/man/man8/cpusetd.8', 'installs it'),
  ],
};

/** The examples as the end of a command's help. */
export function formatExamples(examples: readonly Example[]): string {
  return ['', 'Examples:', ...examples.map(({ line, does }) => `  # ${does}\n  ${line}`)].join('\n');
}
