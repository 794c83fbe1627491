// The tarball of a release, for every distribution.
import { installedUnit } from './payload.mjs';
import { gzip, packTar } from './tar.mjs';

/**
 * Packs the tarball. All is in one folder, which has the name and the version.
 * @param {import('./payload.mjs').Payload} payload
 * @returns {Promise<Buffer>}
 */
export async function makeTarball(payload) {
  const { completions, config, dropIn, licence, man, notices, pages, program, sbom, units, version, epoch } = payload;
  const folder = `cpusetd-${version}`;
  const entries = [
    { name: 'bin/cpusetd', content: program, mode: 0o755 },
    { name: 'bin/kubectl-cpuset', linkTo: 'cpusetd' },
    { name: 'bin/kubectl_complete-cpuset', linkTo: 'cpusetd' },
    ...[...units, dropIn].map(({ name, text }) => ({
      name: `lib/systemd/system/${name}`,
      content: installedUnit(text, '/usr/local/bin/cpusetd'),
    })),
    { name: 'share/bash-completion/completions/cpusetd', content: completions.bash },
    { name: 'share/zsh/site-functions/_cpusetd', content: completions.zsh },
    { name: 'share/fish/vendor_completions.d/cpusetd.fish', content: completions.fish },
    { name: 'share/man/man8/cpusetd.8', content: man },
    { name: 'etc/cpusetd.yaml', content: config },
    { name: 'LICENSE', content: licence },
    { name: 'NOTICES.txt', content: notices },
    { name: 'sbom.cdx.json', content: sbom },
    ...pages.map(({ name, text }) => ({ name, content: text })),
  ];
  const below = entries.map((entry) => ({ ...entry, name: `${folder}/${entry.name}` }));
  return gzip(await packTar(below, epoch));
}
