// The pod network of a node: a bridge of its own with addresses of its own, by the CNI plugins of Debian.

/**
 * The text of the CNI configuration.
 * @param {string} address of the node; its last number chooses the bridge and the subnet, so that nodes of a cluster
 * share none
 * @returns {string} JSON
 */
export function formatPodNetwork(address) {
  const number = address.split('.').at(-1);
  return JSON.stringify({
    cniVersion: '1.0.0',
    name: `pods-${number}`,
    plugins: [
      {
        type: 'bridge',
        bridge: `pods${number}`,
        isGateway: true,
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet: `10.88.${number}.0/24` }]],
          routes: [{ dst: '0.0.0.0/0' }],
          dataDir: `/run/cni/addresses`,
        },
      },
    ],
  });
}
