// The configuration file of a kubelet for tests.

/**
 * The text of the file. The paths are those in the mount namespace of its runtime.
 * @param {object} settings
 * @param {string} settings.address where its server listens; not loopback: the API server would not connect to it
 * @param {string} settings.cgroupRoot the parent of all of its cgroups, so that it deletes none of another kubelet
 * @returns {string} JSON, which is YAML too
 */
export function formatKubeletConfig(settings) {
  return `${JSON.stringify({ ...base, ...settings }, null, 2)}\n`;
}

const base = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  cgroupDriver: 'cgroupfs',
  cpuManagerPolicy: 'none',
  reservedSystemCPUs: '0',
  failCgroupV1: false, // from 1.35 on it is true by default
  failSwapOn: false,
  authentication: { anonymous: { enabled: false }, x509: { clientCAFile: '/run/kubernetes/ca.crt' } },
  authorization: { mode: 'Webhook' },
  tlsCertFile: '/run/kubernetes/server.crt',
  tlsPrivateKeyFile: '/run/kubernetes/server.key',
  staticPodPath: '/run/kubernetes/manifests',
  volumePluginDir: '/run/kubernetes/volume-plugins', // the default is in a folder that is read-only here
  healthzPort: 0,
  enableServer: true,
  makeIPTablesUtilChains: false,
  enforceNodeAllocatable: ['pods'],
  // The machine of a test may be small and full.
  evictionHard: { 'memory.available': '0%', 'nodefs.available': '0%', 'imagefs.available': '0%' },
  localStorageCapacityIsolation: false,
  imageGCHighThresholdPercent: 100,
  // The waiting times of clusters, shortened: what is waited for is the same.
  crashLoopBackOff: { maxContainerRestartPeriod: '1s' },
  nodeStatusUpdateFrequency: '1s',
  fileCheckFrequency: '1s',
  kubeAPIQPS: 500,
  kubeAPIBurst: 1000,
  registerNode: true,
};
