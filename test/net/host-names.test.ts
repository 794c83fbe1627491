import { acceptHosts } from '../../src/net/host-names';

const accepts = acceptHosts(['node-1.example.org', '192.0.2.9']);

test.each`
  host                          | arrivedAt             | want     | why
  ${'127.0.0.1:14710'}          | ${'127.0.0.1'}        | ${true}  | ${'the address that was called'}
  ${'127.0.0.1'}                | ${'::ffff:127.0.0.1'} | ${true}  | ${'the same on a socket that takes both'}
  ${'[::1]:14710'}              | ${'::1'}              | ${true}  | ${'an IPv6 address'}
  ${'[0:0:0:0:0:0:0:1]:14710'}  | ${'::1'}              | ${true}  | ${'the same address written at length'}
  ${'localhost:8080'}           | ${'10.0.0.7'}         | ${true}  | ${'a forwarded port'}
  ${'LOCALHOST'}                | ${'127.0.0.1'}        | ${true}  | ${'names have no case'}
  ${'node-1.example.org:14710'} | ${'10.0.0.7'}         | ${true}  | ${'a configured name'}
  ${'node-1.example.org.'}      | ${'10.0.0.7'}         | ${true}  | ${'the same with its final dot'}
  ${'192.0.2.9:80'}             | ${'10.0.0.7'}         | ${true}  | ${'a configured address'}
  ${'attacker.example:14710'}   | ${'127.0.0.1'}        | ${false} | ${'a name that leads to our address'}
  ${'10.0.0.8:14710'}           | ${'10.0.0.7'}         | ${false} | ${'another address'}
  ${'127.0.0.1.attacker.test'}  | ${'127.0.0.1'}        | ${false} | ${'a name that begins like ours'}
  ${'localhost.attacker.test'}  | ${'127.0.0.1'}        | ${false} | ${'the same'}
  ${'localhost@attacker.test'}  | ${'127.0.0.1'}        | ${false} | ${'no host'}
  ${'localhost/x'}              | ${'127.0.0.1'}        | ${false} | ${'no host'}
  ${'[::1'}                     | ${'::1'}              | ${false} | ${'half an address'}
  ${'[1.2.3.4]'}                | ${'1.2.3.4'}          | ${false} | ${'IPv4 in brackets'}
  ${''}                         | ${'127.0.0.1'}        | ${false} | ${'none'}
`('given "$host" on a connection to $arrivedAt, $why: $want', ({ host, arrivedAt, want }) => {
  expect(accepts(host as string, arrivedAt as string)).toBe(want);
});
