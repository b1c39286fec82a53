import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { defineConfig } from 'vitepress'

const repository = resolve(import.meta.dirname, '../../..')
const docs = join(repository, 'docs')

// Links from pages to files outside docs/, such as examples, lead to the repository. SOURCE is its address.
const source = process.env.SOURCE ?? 'https://github.com/sluice-delivery/sluice/blob/main'

const title = (page: string) =>
  readFileSync(join(docs, page), 'utf8').match(/^# (.+)$/m)?.[1].replaceAll('`', '') ?? page

const item = (page: string) => ({ text: title(page), link: '/' + page.replace(/README\.md$/, '').replace(/\.md$/, '') })

const folder = (name: string, text: string) => ({
  text,
  collapsed: true,
  items: readdirSync(join(docs, name))
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .map((file) => item(`${name}/${file}`)),
})

const section = (text: string, ...pages: string[]) => ({ text, items: pages.map(item) })

export default defineConfig({
  title: 'Sluice',
  description: 'Progressive delivery for Kubernetes',
  srcDir: docs,
  outDir: join(repository, 'dist/site'),
  cacheDir: join(repository, '.cache/site'),
  appearance: true,
  rewrites: { 'README.md': 'index.md', ':folder/README.md': ':folder/index.md' },
  vite: {
    publicDir: false,
    server: { fs: { allow: [repository] } },
    // The pages are outside this folder, so Vite would not find Vue from there.
    resolve: {
      alias: [{ find: /^vue(\/.*)?$/, replacement: join(import.meta.dirname, '../node_modules/vue') + '$1' }],
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [item('getting-started.md'), item('commands/README.md'), item('reference/README.md')],
    sidebar: [
      section('Get started', 'getting-started.md', 'demo.md', 'concepts.md', 'migration.md', 'messages.md', 'faq.md'),
      folder('features', 'Features'),
      folder('routers', 'Traffic routers'),
      folder('providers', 'Metric providers'),
      section('Extend', 'plugins.md', 'plugins/your-own.md', 'dashboard.md'),
      folder('notifications', 'Notifications'),
      folder('commands', 'Commands'),
      folder('reference', 'API reference'),
      section('Operate', 'operations.md', 'performance.md', 'threat-model.md'),
      section('Contribute', 'architecture.md', 'reliability.md', 'requests.md', 'seeds.md'),
      folder('design', 'Design decisions'),
    ],
  },
  markdown: {
    // The pages are written for GitHub, where braces and angle brackets are text. Vue would compile them.
    html: false,
    languageAlias: { sse: 'http' },
    config: (md) => {
      for (const name of ['text', 'code_inline', 'code_block'] as const) {
        const render = md.renderer.rules[name]!
        md.renderer.rules[name] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
      }
      // Comments mark what tests write into a page.
      md.core.ruler.before('normalize', 'comments', (state) => {
        state.src = state.src.replace(/^<!--.*-->$/gm, '')
      })
      md.core.ruler.push('sluice', (state) => {
        const page: string = state.env.path ?? state.env.relativePath
        for (const block of state.tokens) {
          for (const token of block.children ?? []) {
            if (token.type !== 'link_open') continue
            const href = token.attrGet('href') ?? ''
            if (/^[a-z]+:|^#/.test(href)) continue
            const [path, anchor = ''] = href.split('#')
            const target = resolve(dirname(page), path)
            if (relative(docs, target).startsWith('..') || (existsSync(target) && statSync(target).isDirectory() && !existsSync(join(target, 'README.md')))) {
              token.attrSet('href', `${source}/${relative(repository, target)}${anchor && '#' + anchor}`)
            }
          }
        }
      })
    },
  },
})
