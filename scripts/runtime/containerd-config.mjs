// The configuration file of a private containerd, for both generations of its format.
import { pauseImage } from './tiny-image.mjs';

/**
 * The text of the configuration file.
 * @param {object} options
 * @param {number} options.major containerd's major version: 1 (format 2) or 2 (format 3)
 * @param {boolean} options.nri true when plugins can connect
 * @param {string | undefined} [options.requiredPlugin] the plugin without which no container is created; from
 * containerd 2.2
 * @returns {string} TOML
 */
export function formatContainerdConfig({ major, nri, requiredPlugin }) {
  // The native snapshotter copies files, so it works on whatever file system /tmp is on.
  const shared = `
[plugins.'io.containerd.nri.v1.nri']
  disable = ${!nri}
  socket_path = '/run/nri/nri.sock'
${requiredPlugin === undefined ? '' : formatValidator(requiredPlugin)}`;
  if (major >= 2) {
    return `version = 3
${shared}
[plugins.'io.containerd.cri.v1.images']
  snapshotter = 'native'
  use_local_image_pull = true # the other way to pull unpacks for overlayfs only
[plugins.'io.containerd.cri.v1.images'.registry]
${registries}[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = '${pauseImage}'
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ['/usr/lib/cni']
${cni}`;
  }
  return `version = 2
disabled_plugins = ['io.containerd.snapshotter.v1.btrfs', 'io.containerd.snapshotter.v1.zfs', 'io.containerd.snapshotter.v1.devmapper']
${shared}
[plugins.'io.containerd.grpc.v1.cri']
  sandbox_image = '${pauseImage}'
  restrict_oom_score_adj = true
[plugins.'io.containerd.grpc.v1.cri'.registry]
${registries}[plugins.'io.containerd.grpc.v1.cri'.containerd]
  snapshotter = 'native'
[plugins.'io.containerd.grpc.v1.cri'.cni]
  bin_dir = '/usr/lib/cni'
${cni}`;
}

/** The host writes a pod network's configuration there; without one only pods with the host network run. */
const cni = `  conf_dir = '/run/cni'
`;

/** The host writes mirrors of registries there. */
const registries = `  config_path = '/run/registries'
`;

/** The validator with all of its restrictions. @param {string} requiredPlugin */
const formatValidator = (requiredPlugin) => `[plugins.'io.containerd.nri.v1.nri'.default_validator]
  enable = true
  required_plugins = ['${requiredPlugin}']
  tolerate_missing_plugins_annotation = 'cpusetd.io/tolerate-missing'
${restrictions.map((what) => `  reject_${what}_adjustment = true\n`).join('')}`;

/** All that the validator can forbid plugins to change. */
const restrictions = [
  'oci_hook',
  'runtime_default_seccomp',
  'unconfined_seccomp',
  'custom_seccomp',
  'namespace',
  'sysctl',
];
