package clientset

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Objects are the objects of a resource, in one namespace or, if that is empty, in all or in none. T is the
// type of an object, L that of a list. Methods and requests are those of client-go.
type Objects[T, L runtime.Object] struct {
	client              rest.Interface
	resource, namespace string
	newObject           func() T
	newList             func() L
}

func objects[T, L any, P interface {
	*T
	runtime.Object
}, Q interface {
	*L
	runtime.Object
}](client rest.Interface, resource, namespace string) Objects[P, Q] {
	return Objects[P, Q]{client, resource, namespace, func() P { return new(T) }, func() Q { return new(L) }}
}

// of completes a request with the resource and the namespace.
func (o Objects[T, L]) of(request *rest.Request) *rest.Request {
	return request.NamespaceIfScoped(o.namespace, o.namespace != "").Resource(o.resource)
}

// Get returns an object.
func (o Objects[T, L]) Get(ctx context.Context, name string, options metav1.GetOptions) (T, error) {
	found := o.newObject()
	return found, o.of(o.client.Get()).Name(name).VersionedParams(&options, parameters).Do(ctx).Into(found)
}

// List returns the objects that the options select.
func (o Objects[T, L]) List(ctx context.Context, options metav1.ListOptions) (L, error) {
	found := o.newList()
	return found, o.of(o.client.Get()).VersionedParams(&options, parameters).Timeout(timeout(options)).Do(ctx).Into(found)
}

// Watch returns the changes of the objects that the options select.
func (o Objects[T, L]) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	return o.of(o.client.Get()).VersionedParams(&options, parameters).Timeout(timeout(options)).Watch(ctx)
}

// Create creates an object and returns what the API server made of it.
func (o Objects[T, L]) Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error) {
	created := o.newObject()
	return created, o.of(o.client.Post()).VersionedParams(&options, parameters).Body(object).Do(ctx).Into(created)
}

// Patch changes an object or one of its subresources.
func (o Objects[T, L]) Patch(ctx context.Context, name string, kind types.PatchType, body []byte, options metav1.PatchOptions, subresources ...string) (T, error) {
	patched := o.newObject()
	return patched, o.of(o.client.Patch(kind)).Name(name).SubResource(subresources...).VersionedParams(&options, parameters).Body(body).Do(ctx).Into(patched)
}

// Delete deletes an object.
func (o Objects[T, L]) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return o.of(o.client.Delete()).Name(name).Body(&options).Do(ctx).Error()
}

// DeleteCollection deletes the objects that the list options select.
func (o Objects[T, L]) DeleteCollection(ctx context.Context, options metav1.DeleteOptions, selected metav1.ListOptions) error {
	return o.of(o.client.Delete()).VersionedParams(&selected, parameters).Timeout(timeout(selected)).Body(&options).Do(ctx).Error()
}

// ListWatch lists and watches the objects that a label selector selects, for a reflector or an informer.
func (o Objects[T, L]) ListWatch(selector string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			return o.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return o.Watch(ctx, options)
		},
	}
}

// Informer returns an informer of the objects that a label selector selects. It is not running.
func (o Objects[T, L]) Informer(selector string) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(o.ListWatch(selector), o.newObject(), 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

func timeout(options metav1.ListOptions) time.Duration {
	if options.TimeoutSeconds == nil {
		return 0
	}
	return time.Duration(*options.TimeoutSeconds) * time.Second
}
