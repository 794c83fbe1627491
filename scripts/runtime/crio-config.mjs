// The configuration file of a private CRI-O.
import { runtimeVariable } from './leftovers.mjs';
import { pauseImage } from './tiny-image.mjs';

/**
 * CRI-O's storage of images and containers, as its configuration and skopeo name it. `vfs` copies files, so it works on
 * any file system.
 */
export const storage = { driver: 'vfs', root: '/var/lib/containers/storage', runRoot: '/run/containers/storage' };

/**
 * The text of the configuration file.
 * @param {object} options
 * @param {boolean} options.nri true when plugins can connect
 * @param {string} options.work the runtime's folder: conmon and what it starts carry it in their environment
 * @param {string | undefined} [options.requiredPlugin] CRI-O has no required plugins before 1.35
 * @returns {string} TOML
 */
export function formatCrioConfig({ nri, work, requiredPlugin }) {
  if (requiredPlugin !== undefined) throw new Error('CRI-O 1.34 knows no required NRI plugins');
  return `[crio]
root = '${storage.root}'
runroot = '${storage.runRoot}'
storage_driver = '${storage.driver}'
log_dir = '/var/log/pods'
version_file = '/run/crio/version'
clean_shutdown_file = ''
[crio.api]
listen = '/run/crio/crio.sock'
[crio.runtime]
default_runtime = 'runc'
cgroup_manager = 'cgroupfs'
drop_infra_ctr = true # an infra container has a lowered oom_score_adj, which needs CAP_SYS_RESOURCE
enable_pod_events = true
disable_hostport_mapping = true # a mapping needs iptables
pinns_path = '/run/bin/pinns'
default_sysctls = []
[crio.runtime.runtimes.runc]
runtime_path = '/run/bin/restricted-runc'
runtime_root = '/run/runc'
monitor_path = '/usr/bin/conmon'
monitor_cgroup = 'pod'
monitor_env = ['${runtimeVariable}=${work}']
# It concerns pods that name it in an annotation: "resources.workload.example/CONTAINER" gives a container other CPUs than these.
[crio.runtime.workloads.management]
activation_annotation = 'target.workload.example/management'
annotation_prefix = 'resources.workload.example'
resources = { cpuset = '0' }
[crio.image]
pause_image = '${pauseImage}'
pause_command = ''
signature_policy_dir = '/run/crio/policies'
[crio.network]
network_dir = '/run/cni'
plugin_dirs = ['/usr/lib/cni']
[crio.nri]
enable_nri = ${nri}
nri_listen = '/run/nri/nri.sock'
nri_plugin_dir = '/run/nri/plugins'
nri_plugin_config_dir = '/run/nri/conf.d'
`;
}
