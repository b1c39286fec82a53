// What the page does beyond plain links and forms: it follows the server's events, puts in what has changed, answers keys, and shows times in
// the viewer's zone. Without this script everything works by loading pages.

const body = document.body, root = body.dataset.root
const $ = (selector, within = document) => within.querySelector(selector)
const all = (selector, within = document) => [...within.querySelectorAll(selector)]

// Morphing: make one tree like another and touch nothing that is the same, so that focus, selection and what is open stay.

function morph(to, from) {
  if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName) return to.replaceWith(from)
  if (to.nodeType === Node.TEXT_NODE) {
    if (to.data !== from.data) to.data = from.data
    return
  }
  if (to.nodeType !== Node.ELEMENT_NODE || to.isEqualNode(from)) return
  for (const { name, value } of [...from.attributes]) if (to.getAttribute(name) !== value) to.setAttribute(name, value)
  for (const { name } of [...to.attributes]) {
    const chosen = name === 'open' && to.nodeName === 'DETAILS' // by the person
    if (!from.hasAttribute(name) && !chosen) to.removeAttribute(name)
  }
  if (to.hasAttribute('data-whole')) return to.replaceChildren(...from.childNodes) // another text: its paragraphs are not those before, moved
  if (to.nodeName === 'INPUT' || to.nodeName === 'SELECT' && to === document.activeElement) return // what is being typed stays
  morphChildren(to, from)
}

function morphChildren(to, from) {
  const byId = new Map([...to.children].filter(e => e.id).map(e => [e.id, e]))
  let at = to.firstChild
  for (const next of [...from.childNodes]) {
    const same = next.id && byId.get(next.id)
    if (same) {
      if (same !== at) to.insertBefore(same, at)
      else at = at.nextSibling
      morph(same, next)
    } else if (at && !at.id && !next.id && at.nodeName === next.nodeName) {
      const following = at.nextSibling
      morph(at, next)
      at = following
    } else to.insertBefore(next, at)
  }
  while (at) {
    const following = at.nextSibling
    at.remove()
    at = following
  }
}

function parsed(html, row) {
  const page = new DOMParser().parseFromString(row ? `<table><tbody>${html}</tbody></table>` : `<div>${html}</div>`, 'text/html')
  return $(row ? 'tbody' : 'div', page)
}

function put({ id, html, outer }) {
  const target = document.getElementById(id)
  if (!target) return
  const from = parsed(html, target.nodeName === 'TBODY' || target.nodeName === 'TR')
  if (id === 'f-rows') settle(target, from)
  times(from)
  if (outer) morph(target, from.firstElementChild)
  else morphChildren(target, from)
}

// A row that changes stays where it is, or one would click on another. The list takes the server's order when it is asked to, or when nobody has
// touched the page for a minute. Rows that are new are last until then.

const again = $('#again')
let anyOrder = true, touched = performance.now()

function settle(shown, wanted) {
  const place = new Map([...shown.children].map((row, i) => [row.id, i]))
  const rows = [...wanted.children], known = rows.some(row => place.has(row.id))
  const kept = rows.toSorted((a, b) => (place.get(a.id) ?? Infinity) - (place.get(b.id) ?? Infinity) || 0)
  const same = kept.every((row, i) => row === rows[i])
  if (!anyOrder && known && !same) wanted.replaceChildren(...kept)
  if (again) again.hidden = anyOrder || !known || same
  anyOrder = false
}

function sortAgain() {
  anyOrder = true
  follow() // the server begins with all of the page
}

again?.addEventListener('click', sortAgain)
for (const event of ['pointermove', 'pointerdown', 'keydown', 'scroll']) addEventListener(event, () => { touched = performance.now() }, { passive: true })
setInterval(() => { if (again && !again.hidden && performance.now() - touched > 60000) sortAgain() }, 1000)

// Times in the viewer's zone, numbers as the viewer writes them.

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })
const decimal = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 6 })

const time = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const clock = at => (at.toDateString() === new Date().toDateString() ? time : day).format(at)

function words(seconds) {
  const s = Math.max(0, Math.round(seconds)), m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24)
  if (s < 120) return `${s}s`
  if (m < 10) return s % 60 ? `${m}m${s % 60}s` : `${m}m`
  if (h < 3) return `${m}m`
  if (h < 8) return m % 60 ? `${h}h${m % 60}m` : `${h}h`
  if (h < 48) return `${h}h`
  if (d < 8) return h % 24 ? `${d}d${h % 24}h` : `${d}d`
  return `${d}d`
}

function times(within = document) {
  for (const t of all('time', within)) {
    const at = new Date(t.dateTime), away = (Date.now() - at) / 1000
    const text = t.hasAttribute('data-clock') ? clock(at) : words(t.hasAttribute('data-until') ? -away : away)
    if (t.textContent !== text) t.textContent = text
    const title = exact.format(at)
    if (t.title !== title) t.title = title
  }
  for (const n of all('data[value]', within)) {
    const text = decimal.format(n.value)
    if (n.textContent !== text) n.textContent = text
  }
}

// The stream. It rests while nobody looks.

let stream, waiting, tries = 0
const link = $('#link')

function say(text, kind = '') {
  if (link.textContent !== text) link.textContent = text
  link.className = `link ${kind}`
}

function follow() {
  if (!body.hasAttribute('data-live') || document.hidden) return
  clearTimeout(waiting)
  stream?.close()
  stream = new EventSource(location.href)
  stream.onopen = () => { tries = 0; body.classList.remove('lost'); say('live', 'on') }
  stream.addEventListener('fragment', e => put(JSON.parse(e.data)))
  stream.addEventListener('again', follow)
  stream.addEventListener('gone', e => {
    stream.close()
    body.classList.add('lost')
    say(JSON.parse(e.data), 'off')
  })
  stream.onerror = () => {
    stream.close()
    body.classList.add('lost')
    say('connection lost, trying again', 'off')
    waiting = setTimeout(retry, Math.min(10000, 500 * 2 ** tries++))
  }
}

async function retry() {
  const answer = await fetch(root + 'session').catch(() => null)
  if (answer?.status === 401) return say($('.me') ? 'you are logged out: load the page again' : 'the dashboard was restarted: open the link that it printed', 'off')
  follow()
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) { stream?.close(); clearTimeout(waiting) } else { anyOrder = true; follow() }
})
addEventListener('pagehide', () => stream?.close())
addEventListener('pageshow', e => { if (e.persisted) follow() })

// Questions are asked in a dialog. What is sent is the page's own form.

const dialog = $('#ask')

async function ask(href) {
  const answer = await fetch(href, { headers: { Accept: 'text/html' } }).catch(() => null)
  const page = answer && new DOMParser().parseFromString(await answer.text(), 'text/html')
  const question = page && $('#question, .problem', page)
  if (!question) return location.assign(href)
  times(question)
  dialog.replaceChildren(question)
  if (!dialog.open) dialog.showModal()
  const first = $('form[method=post] button.main', dialog) || $('select, input[type=text]', dialog)
  first?.focus()
}

document.addEventListener('click', e => {
  if (e.ctrlKey || e.metaKey || e.shiftKey || e.button) return
  const link = e.target.closest('a[data-ask]')
  if (link) { e.preventDefault(); return ask(link.href) }
  if (dialog?.open && e.target.closest('[data-close]')) { e.preventDefault(); return dialog.close() }
  const row = e.target.closest('tr.row')
  if (row && !e.target.closest('a') && !getSelection().toString()) $('a', row).click()
})

// What is chosen for an action is asked about again, in the same dialog.

dialog?.addEventListener('submit', e => {
  if (e.target.method !== 'get') return
  e.preventDefault()
  ask(e.target.action + '?' + new URLSearchParams(new FormData(e.target)))
})

// A filter applies as soon as it is chosen, typed ones after a moment.

let typing
document.addEventListener('change', e => { if (e.target.closest('form.filters, form.choose') && e.target.nodeName === 'SELECT') e.target.form.requestSubmit() })
document.addEventListener('input', e => {
  const form = e.target.closest('form.filters')
  if (!form || e.target.nodeName === 'SELECT') return
  clearTimeout(typing)
  typing = setTimeout(() => {
    const query = new URLSearchParams([...new FormData(form)].filter(([, v]) => v))
    history.replaceState(null, '', '?' + query)
    anyOrder = true
    follow()
  }, 250)
})

// Keys.

const help = $('#help')
$('#help-button')?.addEventListener('click', () => help.showModal())

function move(by) {
  const rows = all('tr.row a'), at = rows.indexOf(document.activeElement)
  rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))]?.focus()
}

document.addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.nodeName)) {
    if (e.key === 'Escape') e.target.blur()
    return
  }
  const done = () => e.preventDefault()
  switch (e.key) {
    case '?': done(); return help?.showModal()
    case '/': { const s = $('#search'); if (s) { done(); s.focus(); s.select() } return }
    case 'j': case 'ArrowDown': if ($('tr.row')) { done(); move(1) } return
    case 'k': case 'ArrowUp': if ($('tr.row')) { done(); move(-1) } return
    case 'u': return $('.trail a')?.click()
    case 'o': return again && !again.hidden && sortAgain()
  }
  const action = all('[data-key]').find(a => a.dataset.key === e.key)
  if (action) { done(); action.click() }
})

// A tile in another site's page has no stream, which would be one more of the few connections that the browser has: it asks now and then.

async function renew() {
  if (document.hidden) return
  const answer = await fetch(location.href, { headers: { Accept: 'text/html' } }).catch(() => null)
  const page = answer?.ok && new DOMParser().parseFromString(await answer.text(), 'text/html')
  if (page) morph($('main'), $('main', page))
}
if (body.classList.contains('tile')) setInterval(renew, 15000)

body.classList.add('scripted')
times()
setInterval(times, 1000)
follow()
