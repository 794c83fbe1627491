import { listUnknownFields } from '../../../src/kube/kubelet/unknown-fields';

test.each<[string, object, string[]]>([
  ['fields of a kubelet', { kind: 'KubeletConfiguration', reservedSystemCPUs: '0', evictionSoft: {}, maxPods: 9 }, []],
  ['the name of a flag', { reservedCpus: '0' }, ['reservedCpus is no field of a KubeletConfiguration; it is reservedSystemCPUs']],
  ['another case', { reservedSystemCpus: '0' }, ['reservedSystemCpus is no field of a KubeletConfiguration; it is reservedSystemCPUs']],
  ['the spelling of a flag', { 'cpu-manager-policy': 'none' }, ['cpu-manager-policy is no field of a KubeletConfiguration; it is cpuManagerPolicy']],
  ['a letter too many', { kubeReserveed: {} }, ['kubeReserveed is no field of a KubeletConfiguration; it is kubeReserved']],
  ['the answer of configz', { kubeletconfig: { cgroupDrivers: '' } }, ['cgroupDrivers is no field of a KubeletConfiguration; it is cgroupDriver']],
  ['a field of a later kubelet', { cpuSomethingNew: 1, ['x'.repeat(100_000)]: 1 }, []],
])('given %s: the field that is meant is named', (_name, document, sentences) => {
  expect(listUnknownFields(document)).toEqual(sentences);
}); // prettier-ignore
