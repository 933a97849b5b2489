// provider.mjs LIBRARY PORT REDIRECT: a provider of identities with its defaults, whose page signs everyone in.
const [library, port, redirect] = process.argv.slice(2);
const { default: Provider } = await import(library);

const groups = { mara: ['admins', 'ops'], eve: [] };
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: 'mainspring', client_secret: 'of the provider', redirect_uris: [redirect] }],
  claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups'] },
  findAccount: (context, id) => ({
    accountId: id,
    claims: () => ({ sub: `number of ${id}`, preferred_username: id, groups: groups[id] }),
  }),
});
provider.listen(Number(port), '127.0.0.1');
