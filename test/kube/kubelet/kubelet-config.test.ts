import { readKubeletConfig } from '../../../src/kube/kubelet/kubelet-config';

const KIND = { kind: 'KubeletConfiguration' };

test.each<[string, unknown, object]>([
  ['nothing reserved', KIND, { cpuManagerPolicy: 'none', reservedMilliCpu: 0 }],
  [
    'a list',
    { ...KIND, reservedSystemCPUs: ' 0-1,8 ' },
    { cpuManagerPolicy: 'none', reservedSystemCpus: '0-1,8', reservedMilliCpu: 0 },
  ],
  [
    'both reservations together',
    { ...KIND, kubeReserved: { cpu: '500m' }, systemReserved: { cpu: 1, memory: '1Gi' } },
    { cpuManagerPolicy: 'none', reservedMilliCpu: 1500 },
  ],
  ['static', { ...KIND, cpuManagerPolicy: 'static' }, { cpuManagerPolicy: 'static', reservedMilliCpu: 0 }],
  [
    'what configz answers',
    { kubeletconfig: { reservedSystemCPUs: '0' } },
    { cpuManagerPolicy: 'none', reservedSystemCpus: '0', reservedMilliCpu: 0 },
  ],
  [
    'amounts that are none',
    { ...KIND, kubeReserved: { cpu: 'much' }, systemReserved: [] },
    { cpuManagerPolicy: 'none', reservedMilliCpu: 0 },
  ],
])('%s', (_name, document, config) => {
  expect(readKubeletConfig(document)).toEqual(config);
});

test.each([undefined, null, 'text', [], {}, { kind: 'Config' }, { kind: 'Pod' }])(
  '%j is no configuration',
  (document) => {
    expect(readKubeletConfig(document)).toBeUndefined();
  },
);
