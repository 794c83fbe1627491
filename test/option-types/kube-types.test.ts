import { kubeconfigSource, kubeletConfigSource } from '../../src/option-types/kube-types';

test.each([
  ['in-cluster', kubeconfigSource.parse('in-cluster'), { kind: 'in-cluster' }],
  ['a path of a kubeconfig', kubeconfigSource.parse('/etc/k'), { kind: 'file', path: '/etc/k' }],
  ['configz', kubeletConfigSource.parse('configz'), { kind: 'configz' }],
  ['a path of a kubelet configuration', kubeletConfigSource.parse('/etc/k'), { kind: 'file', path: '/etc/k' }],
])('%s is accepted', (_text, parsed, value) => {
  expect(parsed).toEqual({ ok: true, value });
});

test('another word is rejected, and the remedy names the accepted one', () => {
  expect(kubeconfigSource.parse('cluster')).toEqual({
    ok: false,
    problem: 'is not an absolute path',
    remedy: 'write the absolute path of a file, or in-cluster',
  });
});
