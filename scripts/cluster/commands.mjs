// The command lines of the control plane's components, as functions of its addresses and of the files in its folder.

const serviceRange = '10.96.0.0/24';
/** The first address of the services' range: the Service `kubernetes` of namespace default has it. */
export const serviceAddress = '10.96.0.1';

/**
 * @typedef {object} Endpoints
 * @property {string} etcd URL for clients
 * @property {string} etcdPeer URL for other members, of which there are none
 * @property {string} address of the API server
 * @property {number} port of the API server
 */
/** @typedef {(name: string) => string} FileOf the path of a file in the control plane's folder */

/**
 * The arguments of etcd, which keeps its data for the life of the control plane only.
 * @param {FileOf} file
 * @param {Endpoints} endpoints
 * @returns {string[]}
 */
export const etcdArgs = (file, { etcd, etcdPeer }) => [
  ...['--data-dir', file('etcd'), '--unsafe-no-fsync', '--log-level', 'error'],
  ...['--listen-client-urls', etcd, '--advertise-client-urls', etcd],
  ...['--listen-peer-urls', etcdPeer, '--initial-advertise-peer-urls', etcdPeer],
  ...['--initial-cluster', `default=${etcdPeer}`],
];

/**
 * The arguments of kube-apiserver.
 * @param {FileOf} file
 * @param {Endpoints} endpoints
 * @returns {string[]}
 */
export const apiServerArgs = (file, { etcd, address, port }) => [
  `--etcd-servers=${etcd}`,
  ...listeningArgs(address),
  ...[`--advertise-address=${address}`, `--secure-port=${port}`, `--service-cluster-ip-range=${serviceRange}`],
  `--client-ca-file=${file('ca.crt')}`,
  ...[`--tls-cert-file=${file('server.crt')}`, `--tls-private-key-file=${file('server.key')}`],
  ...['--authorization-mode=Node,RBAC', '--enable-admission-plugins=NodeRestriction', '--allow-privileged'],
  '--service-account-issuer=https://kubernetes.default.svc',
  `--service-account-key-file=${file('tokens.pub')}`,
  `--service-account-signing-key-file=${file('tokens.key')}`,
  ...[`--kubelet-client-certificate=${file('server.crt')}`, `--kubelet-client-key=${file('server.key')}`],
  ...[`--kubelet-certificate-authority=${file('ca.crt')}`, '--kubelet-preferred-address-types=InternalIP'],
  ...[`--audit-policy-file=${file('audit-policy.yaml')}`, `--audit-log-path=${file('audit.log')}`],
];

/**
 * On loopback, the Service `kubernetes` leads nowhere: its endpoints may not be there. In a network namespace of its
 * own the API server listens at the address of that Service too, for pods.
 * @param {string} address
 */
const listeningArgs = (address) =>
  address === '127.0.0.1'
    ? [`--bind-address=${address}`, '--endpoint-reconciler-type=none']
    : ['--bind-address=0.0.0.0'];

/**
 * The arguments of kube-controller-manager.
 * @param {FileOf} file
 * @returns {string[]}
 */
export const controllerManagerArgs = (file) => [
  ...clientArgs(file('kube-controller-manager.kubeconfig')),
  ...['--use-service-account-credentials', `--root-ca-file=${file('ca.crt')}`],
  ...[`--service-account-private-key-file=${file('tokens.key')}`, '--leader-elect=false'],
];

/**
 * The arguments of kube-scheduler.
 * @param {FileOf} file
 * @returns {string[]}
 */
export const schedulerArgs = (file) => [...clientArgs(file('kube-scheduler.kubeconfig')), '--leader-elect=false'];

/**
 * The arguments of kube-scheduler with a configuration, which names its kubeconfig too.
 * @param {string} config the path of a KubeSchedulerConfiguration
 * @returns {string[]}
 */
export const configuredSchedulerArgs = (config) => [`--config=${config}`, '--secure-port=0', '--v=2'];

/** @param {string} kubeconfig */
const clientArgs = (kubeconfig) => [
  ...['--kubeconfig', '--authentication-kubeconfig', '--authorization-kubeconfig'].map(
    (flag) => `${flag}=${kubeconfig}`,
  ),
  ...['--bind-address=127.0.0.1', '--secure-port=0'],
];
