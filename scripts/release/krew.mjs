// The plugin for kubectl as krew installs it: an archive, and the manifest that names its address and its checksum.
import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import { gzip, packTar } from './tar.mjs';

const [plugin, completion] = ['kubectl-cpuset', 'kubectl_complete-cpuset'];
/** The name of the manifest's file: krew wants that of the plugin. */
export const krewManifestName = 'cpuset.yaml';

/** @param {string} version */
export const krewArchiveName = (version) => `${plugin}-${version}.tar.gz`;

/**
 * Packs the archive. It has files only, because krew unpacks no links, and suits all architectures: the program is one
 * file for Node. krew links the plugin into its folder for programs; the link for completion is left to the user.
 * @param {import('./payload.mjs').Payload} payload
 * @returns {Promise<Buffer>}
 */
export async function makeKrewArchive({ program, licence, notices, epoch }) {
  const entries = [
    { name: plugin, content: program, mode: 0o755 },
    { name: 'LICENSE', content: licence },
    { name: 'NOTICES.txt', content: notices },
  ];
  return gzip(await packTar(entries, epoch));
}

/**
 * The address of the folder that the release is to be downloaded from, with a slash at its end. Throws when it is none.
 * @param {string} text
 */
export function parseDownloadUrl(text) {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['https:', 'http:'].includes(url.protocol) || /[?#]/.test(text))
    throw new Error(`--download-url: ${text} is not the http or https address of a folder`);
  return url.href.replace(/\/*$/, '/');
}

/**
 * The manifest of an archive.
 * @param {string} version
 * @param {Buffer} archive
 * @param {string} downloadUrl as `parseDownloadUrl` returns it
 */
export function formatKrewManifest(version, archive, downloadUrl) {
  const manifest = {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'cpuset' },
    spec: {
      version: `v${version}`,
      shortDescription: 'Show exclusive CPUs of nodes and pods',
      description: `Shows the exclusive CPUs that cpusetd gives: what is free on each node, the
largest aligned request, broken promises, alarms, the owner of each CPU, why
a pod has its CPUs or fits nowhere, and whether a node can be drained.
It reads only, through the API server.
`,
      caveats: `Needs Node.js 20 or later in PATH, and rights: the ClusterRole and the Role of
deploy/kubectl/viewer.yaml in the source of cpusetd. For completion, once:
  ln -s ${plugin} "\${KREW_ROOT:-$HOME/.krew}/bin/${completion}"
`,
      platforms: [
        {
          selector: { matchExpressions: [{ key: 'os', operator: 'In', values: ['linux', 'darwin'] }] },
          uri: downloadUrl + krewArchiveName(version),
          sha256: createHash('sha256').update(archive).digest('hex'),
          bin: plugin,
          files: [plugin, 'LICENSE', 'NOTICES.txt'].map((name) => ({ from: name, to: '.' })),
        },
      ],
    },
  };
  return stringify(manifest, { lineWidth: 0 });
}
