// The commands of other programs on the pages, each with the place that runs it. The commands of cpusetd, npm, node and
// `kubectl apply` have rules instead: see command-rules.ts.

export interface CommandRow {
  /** Fits the words of the command with a blank between them. Begins with the name of the program. */
  readonly command: RegExp;
  /** The file that runs it, and the text in it by which it does. */
  readonly file: string;
  readonly by: string;
}

export const ROWS: readonly CommandRow[] = [
  // On a node, from a checkout
  { command: /^install (-D )?-m \d+ (dist|deploy)\//, file: 'test/docs/commands.test.ts', by: 'playBlock(' },
  { command: /^ln -s cpusetd /, file: 'test/docs/commands.test.ts', by: 'playBlock(' },
  { command: /^rm (-f )?\/(etc|var)\//, file: 'test/docs/commands.test.ts', by: 'playBlock(' },
  { command: /^systemctl (enable|disable) /, file: 'test/docs/play-block.ts', by: "--root='${stage}'" },
  {
    command: /^systemctl daemon-reload$/,
    file: 'test/machines/claims/systemd-service.ts',
    by: "systemctl('daemon-reload')",
  },
  {
    command: /^systemctl start /,
    file: 'test/machines/claims/systemd-service.ts',
    by: "systemctl('start', 'kubelet')",
  },
  {
    command: /^systemctl stop /,
    file: 'test/machines/claims/systemd-service.ts',
    by: "systemctl('stop', 'kubelet', 'cpusetd')",
  },
  {
    command: /^systemctl restart /,
    file: 'test/machines/claims/systemd-proxy.ts',
    by: "systemctl('restart', unit)",
  },
  {
    command: /^systemctl status /,
    file: 'test/machines/claims/systemd-service.ts',
    by: "StatusText, 'containers are pinned'",
  },
  { command: /^systemctl reload /, file: 'test/e2e/reload.test.ts', by: "process.kill(daemon.pid, 'SIGHUP')" },
  {
    command: /^systemctl set-property /,
    file: 'test/machines/claims/daemon-reload.ts',
    by: "'set-property', '--runtime'",
  },
  {
    command: /^systemd-analyze security( cpusetd)?$/,
    file: 'test/docs/deploy.test.ts',
    by: "'security', '--offline=true'",
  },
  { command: /^taskset -pc /, file: 'test/machines/claims/audit.ts', by: "'taskset', ['-pc'" },
  { command: /^ps -eL$/, file: 'bench/audit.ts', by: "'ps', ['-eLo'" },
  { command: /^source <\(cpusetd completion bash\)$/, file: 'test/e2e/completion.test.ts', by: 'source "$1"' },
  { command: /^man -l -$/, file: 'test/e2e/completion.test.ts', by: "'groff', ['-man'" },
  { command: /^tar xzf report\.tar\.gz$/, file: 'test/e2e/report.test.ts', by: "'tar', ['xzf'" },
  // From a release
  { command: /^tar -xz\w*f cpusetd-/, file: 'test/scripts/release/release.test.ts', by: 'playBlock(' },
  { command: /^cd cpusetd-/, file: 'test/scripts/release/release.test.ts', by: 'playBlock(' },
  { command: /^install (-D )?-m \d+ (bin|etc|lib)\//, file: 'test/scripts/release/release.test.ts', by: 'playBlock(' },
  { command: /^cp -d bin/, file: 'test/scripts/release/release.test.ts', by: 'cp -d bin/*' },
  { command: /^ln -s kubectl-cpuset /, file: 'test/e2e/krew.test.ts', by: "caveats.indexOf('ln -s')" },
  { command: /^sha256sum --check /, file: 'test/scripts/release/release.test.ts', by: 'playBlock(' },
  { command: /^apt remove$/, file: 'test/e2e/debian-package.test.ts', by: 'dpkg --remove cpusetd' },
  { command: /^apt purge$/, file: 'test/e2e/debian-package.test.ts', by: 'dpkg --purge cpusetd' },
  { command: /^docker build /, file: 'scripts/install-check.mjs', by: 'checkDockerfile(' },
  {
    command: /^ctr -n k8s\.io images import /,
    file: 'scripts/runtime/kinds.mjs', // for the rigs of all tests
    by: "'k8s.io', 'images', 'import'",
  },
  { command: /^git tag -a /, file: 'test/support/published-project.ts', by: "'tag', '--force'" },
  // Before a commit
  { command: /^git config core\.hooksPath /, file: 'test/scripts/precommit.test.ts', by: 'listCommands(' },
  { command: /^git commit --no-verify$/, file: 'test/scripts/precommit.test.ts', by: "'--no-verify'" },
  { command: /^printf run db 4/, file: 'test/play/play.test.ts', by: 'CONTRIBUTING.md' },
  {
    command: /^grep -rnE full-pcpus-only\|fullPcpusOnly src docs$/,
    file: 'test/scripts/first-change.test.ts',
    by: "spawnSync('grep', words",
  },
  // In a cluster; kubectl's own parser takes all but `apply`, without acting
  { command: /^kubectl (?!apply |cpuset |krew )/, file: 'test/e2e/deploy.test.ts', by: 'listKubectlCommands()' },
  { command: /^kubectl krew /, file: 'test/e2e/krew.test.ts', by: "plugin === 'krew'" },
  { command: /^helm (install|upgrade) /, file: 'test/e2e/helm.test.ts', by: 'listHelmCommands()' },
  { command: /^openssl /, file: 'test/docs/commands.test.ts', by: 'playBlock(' },
  { command: /^grpcurl /, file: 'test/e2e/admin.test.ts', by: "=== 'grpcurl'" },
  { command: /^promtool query instant /, file: 'test/monitoring/dashboards.test.ts', by: "'query', 'instant'" },
  { command: /^promtool check metrics$/, file: 'test/monitoring/rules.test.ts', by: "'check', 'metrics'" },
  { command: /^cat \/etc\/cpusetd\/cpus\.json$/, file: 'test/docs/cookbook.test.ts', by: 'cat /etc/cpusetd/cpus.json' },
  { command: /^grep Cpus_allowed_list /, file: 'test/e2e/rig/commands.ts', by: 'Cpus_allowed_list' },
  // Beside commands of cpusetd
  { command: /^head -8$/, file: 'test/docs/cookbook.test.ts', by: '| head -8' },
  { command: /^grep managers$/, file: 'test/docs/cookbook.test.ts', by: '| grep managers' },
  { command: /^grep -v default$/, file: 'test/docs/commands-page.test.ts', by: '| grep -v default' },
  { command: /^cat machine\.jsonl$/, file: 'test/docs/commands-page.test.ts', by: 'machine.jsonl' },
  { command: /^echo {/, file: 'test/docs/commands-page.test.ts', by: "echo '(.*)'" },
  // Plugins
  { command: /^npm pack$/, file: 'test/package/package.test.ts', by: "'npm', ['pack'" },
  { command: /^cp node_modules\/cpusetd\/examples\//, file: 'test/package/package.test.ts', by: 'playBlock(' },
  { command: /^npx tsc /, file: 'test/package/package.test.ts', by: 'playBlock(' },
  { command: /^node env-from-annotation\.js$/, file: 'test/package/package.test.ts', by: 'playBlock(' },
  { command: /^node dist\/examples\//, file: 'test/e2e/example-process.ts', by: 'dist/examples/${name}.js' },
];

/** Commands that no test runs, with the reason. */
export const NOT_RUN: readonly { readonly command: RegExp; readonly because: string }[] = [
  {
    command: /^apt install /,
    because: 'it takes Node from an archive of the distribution; test/e2e/debian-package.test.ts installs with dpkg',
  },
  {
    command: /^npm install /,
    because: 'it asks a registry; test/package/package.test.ts unpacks the tarball and links its dependencies',
  },
  {
    command: /^skopeo copy /,
    because: 'it needs a registry of the operator; scripts/runtime/kinds.mjs copies with skopeo to CRI-O',
  },
  { command: /^git switch -c even-cpus-only$/, because: 'it makes a branch for the example of CONTRIBUTING.md' },
  { command: /^git clone URL cpusetd$/, because: 'the project has no public address: docs/release.md' },
  { command: /^cd cpusetd$/, because: 'it goes to the clone' },
  { command: /^skopeo login$/, because: 'it asks for a secret' },
  { command: /^crane auth login$/, because: 'it asks for a secret' },
  { command: /^helm registry login$/, because: 'it asks for a secret' },
  { command: /^npm login$/, because: 'it asks for a secret' },
  {
    command: /^git checkout COMMIT$/,
    because: 'it would change the checkout; release.test.ts makes releases in copies',
  },
  {
    command: /^diff dist\/release\/SHA256SUMS /,
    because: 'release.test.ts compares the files of two releases by itself',
  },
  { command: /^go (get|mod download) /, because: 'it changes pinned versions, and asks a module proxy' },
  { command: /^systemctl edit /, because: 'it opens an editor' },
  { command: /^echo 3$/, because: 'it changes the workqueues of the machine of the tests' },
  { command: /^ethtool -L$/, because: 'it needs a device with several queues' },
  {
    command: /^docker (save|run) /,
    because: 'it needs a daemon of docker; scripts/install-check.mjs builds from the Dockerfile',
  },
  { command: /^mkdir -p dist$/, because: 'it makes the folder for a file that docker writes' },
  { command: /^semanage /, because: 'it needs SELinux' },
  { command: /^ssh /, because: 'it needs a second machine' },
  { command: /^scp /, because: 'it needs a second machine' },
];
