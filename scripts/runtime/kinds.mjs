// The two kinds of runtimes: their programs, sockets and commands.
import { formatContainerdConfig } from './containerd-config.mjs';
import { formatCrioConfig, storage } from './crio-config.mjs';

/**
 * @typedef {object} ConfigOptions
 * @property {number} major the runtime's major version
 * @property {boolean} nri true when plugins can connect
 * @property {string} work the runtime's folder
 * @property {string | undefined} requiredPlugin the NRI plugin without which no container is created
 */
/**
 * @typedef {object} RuntimeKind
 * @property {string} program the program, and its name among the versions
 * @property {string} criSocket below the runtime's folder
 * @property {string} cgroupPrefix the cgroup of a container is named after its id, with this before it
 * @property {boolean} stopsPodsGracefully true when StopPodSandbox gives containers until the deadline of the call to
 * end by themselves
 * @property {(options: ConfigOptions) => string} formatConfig
 * @property {(configFile: string) => string[]} listArguments of the program
 * @property {(options: ImportOptions) => [string, ...string[]][]} listImports commands that bring the images of an
 * archive into the
 *   running runtime
 */
/**
 * @typedef {object} ImportOptions paths are those in the runtime's mount namespace
 * @property {string} archive an OCI image layout in a tar
 * @property {string[]} names of its images
 * @property {string} criSocket where the runtime listens
 * @property {number} major the runtime's major version
 */

/** @type {RuntimeKind} */
const containerd = {
  program: 'containerd',
  criSocket: 'run/containerd/containerd.sock',
  cgroupPrefix: '',
  stopsPodsGracefully: false,
  formatConfig: formatContainerdConfig,
  listArguments: (configFile) => ['--config', configFile],
  listImports({ archive, criSocket, major }) {
    const local = major >= 2 ? ['--local'] : []; // the newer transfer service does not know every snapshotter
    return [['ctr', '-a', criSocket, '-n', 'k8s.io', 'images', 'import', ...local, archive]];
  },
};

/** @type {RuntimeKind} */
const crio = {
  program: 'crio',
  criSocket: 'run/crio/crio.sock',
  cgroupPrefix: 'crio-',
  stopsPodsGracefully: true,
  formatConfig: formatCrioConfig,
  listArguments: (configFile) => [
    ...['--config', configFile, '--config-dir', ''],
    ...['--registries-conf-dir', '/run/registries'], // the host writes mirrors of registries there
  ],
  listImports({ archive, names }) {
    const target = `containers-storage:[${storage.driver}@${storage.root}+${storage.runRoot}]`;
    return names.map((name) => ['skopeo', 'copy', `oci-archive:${archive}:${name}`, `${target}${name}`]);
  },
};

/**
 * The kind of a suite's runtime.
 * @param {string} suite
 * @returns {RuntimeKind}
 */
export const kindOf = (suite) => (suite === 'crio' ? crio : containerd);
